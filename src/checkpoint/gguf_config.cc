#include "checkpoint/gguf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "checkpoint/architectures.h"

namespace ridge::checkpoint {
namespace {

constexpr std::string_view kRotaryDivisors = "rope_freqs.weight";

// Numbers of graphs that none of these architectures has here.
constexpr const char* kForeignKeys[] = {"expert_count", "attention.scale",     "attention.clamp_kqv",
                                        "logit_scale",  "residual_scale",      "embedding_scale",
                                        "pooling_type", "nextn_predict_layers"};

// Special tokens that end an answer wherever they exist, as llama.cpp has them.
constexpr std::string_view kEndTexts[] = {"<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|endoftext|>"};
constexpr int kControlToken = 3;

struct TensorName {
  std::string_view theirs, ours;
  enum class Rotary { kNone, kQueries, kKeys } rotary = Rotary::kNone;
};
using Rotary = TensorName::Rotary;
constexpr TensorName kOuterNames[] = {{.theirs = "token_embd.weight", .ours = "model.embed_tokens.weight"},
                                      {.theirs = "output_norm.weight", .ours = "model.norm.weight"},
                                      {.theirs = "output.weight", .ours = "lm_head.weight"}};
constexpr TensorName kLayerNames[] = {
    {.theirs = "attn_norm.weight", .ours = "input_layernorm.weight"},
    {.theirs = "ffn_norm.weight", .ours = "post_attention_layernorm.weight"},
    {.theirs = "attn_q.weight", .ours = "self_attn.q_proj.weight", .rotary = Rotary::kQueries},
    {.theirs = "attn_q.bias", .ours = "self_attn.q_proj.bias", .rotary = Rotary::kQueries},
    {.theirs = "attn_k.weight", .ours = "self_attn.k_proj.weight", .rotary = Rotary::kKeys},
    {.theirs = "attn_k.bias", .ours = "self_attn.k_proj.bias", .rotary = Rotary::kKeys},
    {.theirs = "attn_v.weight", .ours = "self_attn.v_proj.weight"},
    {.theirs = "attn_v.bias", .ours = "self_attn.v_proj.bias"},
    {.theirs = "attn_output.weight", .ours = "self_attn.o_proj.weight"},
    {.theirs = "attn_output.bias", .ours = "self_attn.o_proj.bias"},
    {.theirs = "attn_q_norm.weight", .ours = "self_attn.q_norm.weight"},
    {.theirs = "attn_k_norm.weight", .ours = "self_attn.k_norm.weight"},
    {.theirs = "ffn_gate.weight", .ours = "mlp.gate_proj.weight"},
    {.theirs = "ffn_up.weight", .ours = "mlp.up_proj.weight"},
    {.theirs = "ffn_down.weight", .ours = "mlp.down_proj.weight"}};

Error unsupported_gguf(std::string message) { return {Code::kUnsupported, std::move(message)}; }

Result<const Architecture*> architecture_in(const Gguf& file) {
  RIDGE_ASSIGN(const std::string name, gguf_value<std::string>(file, "general.architecture"));
  if (const Architecture* known = gguf_architecture(name)) return known;
  return unsupported_gguf(fmt::format("general.architecture '{}' has no decoder here; known: {}", name, gguf_types()));
}

Status refuse_foreign_gguf(const Gguf& file, const std::string& prefix) {
  RIDGE_ASSIGN(const int64_t parts, json_member_or<int64_t>(file.metadata, "split.count", 0));
  if (parts > 1)
    return unsupported_gguf(fmt::format(
        "it is one of {} parts of a model; join them: llama-gguf-split --merge FIRST_PART.gguf WHOLE.gguf", parts));
  for (const char* key : kForeignKeys) {
    const auto found = file.metadata.find(prefix + key);
    if (found != file.metadata.end() && found->is_number() && found->get<double>() != 0)
      return unsupported_gguf(
          fmt::format("metadata '{}{}' is {}; no decoder here computes that", prefix, key, found->dump()));
  }
  return {};
}

// Stretched positions: by the metadata, or by a divisor of each frequency in a tensor.
Result<Json> rotary_of(const Gguf& file, const std::string& prefix) {
  RIDGE_ASSIGN(std::string type,
               json_member_or<std::string>(file.metadata, (prefix + "rope.scaling.type").c_str(), "none"));
  const auto divisors = file.tensors.find(kRotaryDivisors);
  if (divisors != file.tensors.end()) {
    if (type != "none" || divisors->second.type->plain != DataType::kFp32 || divisors->second.shape.size() != 1)
      return unsupported_gguf(
          fmt::format("tensor '{}' beside a scaling of positions of type '{}', or not F32", kRotaryDivisors, type));
    std::vector<float> values(static_cast<size_t>(divisors->second.shape.front()));
    read_row(divisors->second, 0, values);
    return Json{{"rope_type", "divisors"}, {"divisors", values}};
  }
  if (type == "none") return Json();
  if (type != "linear") return unsupported_gguf(fmt::format("positions are scaled by '{}'; known: linear", type));
  RIDGE_ASSIGN(const double factor, gguf_value<double>(file, prefix + "rope.scaling.factor"));
  return Json{{"rope_type", type}, {"factor", factor}};
}

Json ends_of(const Gguf& file) {
  std::vector<int64_t> ends;
  for (const char* key : {"eos", "eot", "eom"})
    if (const Result<int64_t> id = gguf_value<int64_t>(file, fmt::format("tokenizer.ggml.{}_token_id", key)))
      ends.push_back(*id);
  const auto tokens = file.metadata.find("tokenizer.ggml.tokens"),
             types = file.metadata.find("tokenizer.ggml.token_type");
  if (tokens != file.metadata.end() && types != file.metadata.end() && tokens->is_array() && types->is_array())
    for (size_t i = 0; i < std::min(tokens->size(), types->size()); ++i)
      if ((*types)[i] == kControlToken &&
          std::ranges::any_of(kEndTexts, [&](std::string_view text) { return (*tokens)[i] == text; }))
        ends.push_back(static_cast<int64_t>(i));
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

struct NamedTensor {
  const TensorName* name = nullptr;
  std::string ours;
};
std::optional<NamedTensor> renamed(std::string_view theirs) {
  for (const TensorName& name : kOuterNames)
    if (name.theirs == theirs) return NamedTensor{&name, std::string(name.ours)};
  constexpr std::string_view kLayer = "blk.";
  const size_t dot = theirs.starts_with(kLayer) ? theirs.find('.', kLayer.size()) : std::string_view::npos;
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view index = theirs.substr(kLayer.size(), dot - kLayer.size());
  for (const TensorName& name : kLayerNames)
    if (name.theirs == theirs.substr(dot + 1))
      return NamedTensor{&name, fmt::format("model.layers.{}.{}", index, name.ours)};
  return std::nullopt;
}

// Tensors of a decoder: per layer two norms, four matrices of attention, three behind it, biases, norms of heads.
int64_t tensors_of(const DecoderConfig& config) {
  const int64_t layer = 9 + (config.qkv_bias ? 3 : 0) + (config.output_bias ? 1 : 0) + (config.qk_norm ? 2 : 0);
  return config.layers * layer + (config.tied_embeddings ? 2 : 3);
}

}  // namespace

Result<Json> gguf_config(const Gguf& file) {
  RIDGE_ASSIGN(const Architecture* architecture, architecture_in(file));
  const std::string prefix = std::string(architecture->gguf) + ".";
  RIDGE_TRY(refuse_foreign_gguf(file, prefix));
  const auto embedding = file.tensors.find("token_embd.weight");
  if (embedding == file.tensors.end() || embedding->second.shape.size() != 2)
    return invalid("it has no matrix 'token_embd.weight'");
  Json config = {{"model_type", architecture->type},
                 {"vocab_size", embedding->second.shape.front()},
                 {"tie_word_embeddings", !file.tensors.contains("output.weight")},
                 {"attention_bias", file.tensors.contains("blk.0.attn_q.bias")}};
  constexpr std::pair<const char*, const char*> kCounts[] = {{"hidden_size", "embedding_length"},
                                                             {"num_hidden_layers", "block_count"},
                                                             {"num_attention_heads", "attention.head_count"},
                                                             {"intermediate_size", "feed_forward_length"},
                                                             {"max_position_embeddings", "context_length"}};
  for (const auto& [ours, theirs] : kCounts) {
    RIDGE_ASSIGN(config[ours], gguf_value<int64_t>(file, prefix + theirs));
  }
  const auto count = [&](const char* key, int64_t otherwise) {
    return json_member_or<int64_t>(file.metadata, (prefix + key).c_str(), otherwise);
  };
  const int64_t heads = config["num_attention_heads"].get<int64_t>(), hidden = config["hidden_size"].get<int64_t>();
  if (heads < 1) return invalid(fmt::format("{}attention.head_count is {}", prefix, heads));
  RIDGE_ASSIGN(config["num_key_value_heads"], count("attention.head_count_kv", heads));
  RIDGE_ASSIGN(const int64_t width, count("attention.key_length", hidden / heads));
  RIDGE_ASSIGN(const int64_t value_width, count("attention.value_length", width));
  RIDGE_ASSIGN(const int64_t rotated, count("rope.dimension_count", width));
  RIDGE_ASSIGN(const int64_t window, count("attention.sliding_window", 0));
  if (value_width != width || rotated != width)
    return unsupported_gguf(
        fmt::format("its heads have keys of {} values, {} of them rotated, and values of {}; known: the "
                    "same for all",
                    width, rotated, value_width));
  config["head_dim"] = width;
  if (window > 0) config.update(Json{{"sliding_window", window}, {"use_sliding_window", true}});
  RIDGE_ASSIGN(config["rms_norm_eps"], gguf_value<double>(file, prefix + "attention.layer_norm_rms_epsilon"));
  RIDGE_ASSIGN(config["rope_theta"],
               json_member_or<double>(file.metadata, (prefix + "rope.freq_base").c_str(), 10000.0));
  RIDGE_ASSIGN(config["rope_scaling"], rotary_of(file, prefix));
  if (const Result<int64_t> bos = gguf_value<int64_t>(file, "tokenizer.ggml.bos_token_id"))
    config["bos_token_id"] = *bos;
  config["eos_token_id"] = ends_of(file);
  return config;
}

Result<NamedWeights> gguf_weights(const Gguf& file, const DecoderConfig& config) {
  RIDGE_ASSIGN(const Architecture* architecture, architecture_in(file));
  NamedWeights weights;
  for (const auto& [theirs, stored] : file.tensors) {
    if (theirs == kRotaryDivisors) continue;
    const std::optional<NamedTensor> named = renamed(theirs);
    if (!named) return unsupported_gguf("tensor '" + theirs + "' is of no decoder that ridge computes");
    if (stored.type->decode == nullptr)
      return unsupported_gguf(
          fmt::format("tensor '{}' is of type {}; ridge reads {}: take the model in another form, "
                      "or requantise it (llama-quantize)",
                      theirs, stored.type->name, decoded_types()));
    if (stored.shape.size() == 1 && stored.type->block_values != 1)
      return unsupported_gguf(fmt::format("tensor '{}' is a vector in blocks ({})", theirs, stored.type->name));
    Weight weight = stored;
    if (architecture->has(Trait::kInterleavedGguf) && named->name->rotary != Rotary::kNone)
      weight.interleaved_heads = named->name->rotary == Rotary::kQueries ? config.heads : config.kv_heads;
    weights.emplace(named->ours, std::move(weight));
  }
  // One fewer is found missing by its name.
  if (const int64_t known = tensors_of(config); static_cast<int64_t>(weights.size()) > known)
    return unsupported_gguf(fmt::format("it has {} tensors and a decoder of its form {}: ridge would leave out some",
                                        weights.size(), known));
  return weights;
}

}  // namespace ridge::checkpoint
