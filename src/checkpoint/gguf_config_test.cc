#include "checkpoint/gguf_config.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "checkpoint/test_gguf.h"

namespace ridge::checkpoint {
namespace {

constexpr int64_t kHidden = 16, kWidth = 8, kHeads = 2, kInner = 12, kTokens = 10;

void add_tensor(TestGguf& file, const std::string& name, const Shape& shape) {
  file.tensor(name, shape, 0, std::string(static_cast<size_t>(4 * *element_count(shape)), '\0'));
}

TestGguf model_file(const std::string& kind, const std::function<void(TestGguf&)>& more = [](TestGguf&) {}) {
  TestGguf file;
  const std::string prefix = kind + ".";
  file.text("general.architecture", kind)
      .number(prefix + "context_length", 64)
      .number(prefix + "embedding_length", kHidden)
      .number(prefix + "block_count", 1)
      .number(prefix + "feed_forward_length", kInner)
      .number(prefix + "attention.head_count", kHeads)
      .number(prefix + "attention.head_count_kv", 1)
      .real(prefix + "attention.layer_norm_rms_epsilon", 0.25F)
      .real(prefix + "rope.freq_base", 5000)
      .number("tokenizer.ggml.bos_token_id", 1)
      .number("tokenizer.ggml.eos_token_id", 2)
      .texts("tokenizer.ggml.tokens", {"a", "b", "c", "<|eot_id|>", "<|im_end|>"})
      .numbers("tokenizer.ggml.token_type", {1, 3, 3, 3, 1});
  add_tensor(file, "token_embd.weight", {kTokens, kHidden});
  add_tensor(file, "output_norm.weight", {kHidden});
  for (const char* norm : {"attn_norm", "ffn_norm"})
    add_tensor(file, std::string("blk.0.") + norm + ".weight", {kHidden});
  add_tensor(file, "blk.0.attn_q.weight", {kHeads * kWidth, kHidden});
  add_tensor(file, "blk.0.attn_k.weight", {kWidth, kHidden});
  add_tensor(file, "blk.0.attn_v.weight", {kWidth, kHidden});
  add_tensor(file, "blk.0.attn_output.weight", {kHidden, kHeads * kWidth});
  add_tensor(file, "blk.0.ffn_gate.weight", {kInner, kHidden});
  add_tensor(file, "blk.0.ffn_up.weight", {kInner, kHidden});
  add_tensor(file, "blk.0.ffn_down.weight", {kHidden, kInner});
  more(file);
  return file;
}

struct ReadModel {
  DecoderConfig config;
  NamedWeights weights;
};
Result<ReadModel> read_model(const std::string& bytes) {
  RIDGE_ASSIGN(const Gguf file, read_gguf(std::as_bytes(std::span(bytes))));
  RIDGE_ASSIGN(const Json json, gguf_config(file));
  ReadModel model;
  RIDGE_ASSIGN(model.config, decoder_config_of(json, nullptr));
  RIDGE_ASSIGN(model.weights, gguf_weights(file, model.config));
  return model;
}

TEST(GgufConfig, ReadsDimensionsTokensAndNames) {
  const Result<ReadModel> model = read_model(model_file("llama").bytes());
  ASSERT_TRUE(model.ok()) << model.error().message;
  const DecoderConfig& config = model->config;
  EXPECT_EQ(config.kind, "llama");
  EXPECT_EQ(config.hidden, kHidden);
  EXPECT_EQ(config.layers, 1);
  EXPECT_EQ(config.heads, kHeads);
  EXPECT_EQ(config.kv_heads, 1);
  EXPECT_EQ(config.head_dim, kWidth);
  EXPECT_EQ(config.intermediate, kInner);
  EXPECT_EQ(config.vocabulary, kTokens);
  EXPECT_EQ(config.context, 64);
  EXPECT_EQ(config.rms_norm_eps, 0.25);
  EXPECT_EQ(config.rope.theta, 5000);
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_EQ(config.bos, 1);
  EXPECT_EQ(config.eos, (std::vector<int64_t>{2, 3})) << "what is no special token ends nothing";
  EXPECT_EQ(model->weights.at("model.layers.0.self_attn.q_proj.weight").interleaved_heads, kHeads);
  EXPECT_EQ(model->weights.at("model.layers.0.self_attn.k_proj.weight").interleaved_heads, 1);
  EXPECT_EQ(model->weights.at("model.layers.0.self_attn.v_proj.weight").interleaved_heads, 0);
  EXPECT_EQ(model->weights.at("model.layers.0.mlp.down_proj.weight").shape, (Shape{kHidden, kInner}));
}

TEST(GgufConfig, KnowsWhatEachArchitectureHas) {
  const auto biases = [](TestGguf& file) {
    add_tensor(file, "blk.0.attn_q.bias", {kHeads * kWidth});
    add_tensor(file, "blk.0.attn_k.bias", {kWidth});
    add_tensor(file, "blk.0.attn_v.bias", {kWidth});
  };
  const Result<ReadModel> qwen2 = read_model(model_file("qwen2", biases).bytes());
  ASSERT_TRUE(qwen2.ok()) << qwen2.error().message;
  EXPECT_TRUE(qwen2->config.qkv_bias);
  EXPECT_EQ(qwen2->weights.at("model.layers.0.self_attn.q_proj.weight").interleaved_heads, 0);
  const Result<ReadModel> qwen3 = read_model(model_file("qwen3", [](TestGguf& file) {
                                               add_tensor(file, "blk.0.attn_q_norm.weight", {kWidth});
                                               add_tensor(file, "blk.0.attn_k_norm.weight", {kWidth});
                                               add_tensor(file, "output.weight", {kTokens, kHidden});
                                             }).bytes());
  ASSERT_TRUE(qwen3.ok()) << qwen3.error().message;
  EXPECT_TRUE(qwen3->config.qk_norm);
  EXPECT_FALSE(qwen3->config.tied_embeddings);
}

TEST(GgufConfig, ReadsStretchedPositions) {
  const Result<ReadModel> divided =
      read_model(model_file("llama", [](TestGguf& file) {
                   const float divisors[] = {1, 2, 4, 8};
                   file.tensor("rope_freqs.weight", {4}, 0, std::string(reinterpret_cast<const char*>(divisors), 16));
                 }).bytes());
  ASSERT_TRUE(divided.ok()) << divided.error().message;
  const std::vector<double> frequencies = rope_frequencies(divided->config.rope, kWidth);
  const std::vector<double> plain = rope_frequencies({.theta = 5000}, kWidth);
  for (size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(frequencies[i], plain[i] / static_cast<double>(1 << i));
  const Result<ReadModel> linear =
      read_model(model_file("llama", [](TestGguf& file) {
                   file.text("llama.rope.scaling.type", "linear").real("llama.rope.scaling.factor", 4);
                 }).bytes());
  ASSERT_TRUE(linear.ok()) << linear.error().message;
  EXPECT_EQ(linear->config.rope.factor, 4);
}

TEST(GgufConfig, RefusesByNameWhatItDoesNotCompute) {
  const std::pair<const char*, std::function<void(TestGguf&)>> wrong[] = {
      {"llama.expert_count", [](TestGguf& f) { f.number("llama.expert_count", 8); }},
      {"llama-gguf-split", [](TestGguf& f) { f.number("split.count", 2); }},
      {"4 of them rotated", [](TestGguf& f) { f.number("llama.rope.dimension_count", 4); }},
      {"yarn", [](TestGguf& f) { f.text("llama.rope.scaling.type", "yarn").real("llama.rope.scaling.factor", 4); }},
      {"blk.0.ffn_gate_exps.weight", [](TestGguf& f) { add_tensor(f, "blk.0.ffn_gate_exps.weight", {2}); }},
      {"12 tensors", [](TestGguf& f) { add_tensor(f, "blk.0.attn_output.bias", {kHidden}); }},
      {"Q5_0", [](TestGguf& f) { f.tensor("output.weight", {1, 32}, 6, std::string(22, '\0')); }}};
  for (const auto& [part, change] : wrong) {
    const Result<ReadModel> model = read_model(model_file("llama", change).bytes());
    ASSERT_FALSE(model.ok()) << part;
    EXPECT_EQ(model.error().code, Code::kUnsupported) << model.error().message;
    EXPECT_NE(model.error().message.find(part), std::string::npos) << model.error().message;
  }
  const Result<ReadModel> foreign = read_model(model_file("gemma3").bytes());
  EXPECT_NE(foreign.error().message.find("known: llama, qwen2, qwen3"), std::string::npos) << foreign.error().message;
  EXPECT_NE(read_model(TestGguf().bytes()).error().message.find("general.architecture"), std::string::npos);
}

}  // namespace
}  // namespace ridge::checkpoint
