#include "checkpoint/decoder_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace ridge::checkpoint {
namespace {

Json small(const char* kind) {
  return {{"model_type", kind},
          {"architectures", {"LlamaForCausalLM"}},
          {"hidden_size", 64},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"intermediate_size", 96},
          {"vocab_size", 100},
          {"max_position_embeddings", 128},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 500000.0},
          {"tie_word_embeddings", true},
          {"bos_token_id", 1},
          {"eos_token_id", 2},
          {"hidden_act", "silu"}};
}

std::string refusal(const Json& json) {
  const Result<DecoderConfig> config = decoder_config_of(json, nullptr);
  EXPECT_FALSE(config.ok()) << json.dump();
  return config ? "" : config.error().message;
}

TEST(DecoderConfig, ReadsDimensionsAndTokens) {
  const Result<DecoderConfig> config = decoder_config_of(small("llama"), nullptr);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->hidden, 64);
  EXPECT_EQ(config->layers, 2);
  EXPECT_EQ(config->kv_heads, 2);
  EXPECT_EQ(config->head_dim, 16);
  EXPECT_EQ(config->intermediate, 96);
  EXPECT_EQ(config->context, 128);
  EXPECT_EQ(config->rms_norm_eps, 1e-5);
  EXPECT_EQ(config->rope.theta, 500000);
  EXPECT_TRUE(config->tied_embeddings);
  EXPECT_FALSE(config->qkv_bias || config->output_bias || config->qk_norm);
  EXPECT_EQ(config->bos, 1);
  EXPECT_EQ(config->eos, (std::vector<int64_t>{2}));
}

TEST(DecoderConfig, TokensOfGenerationCountBeforeTheModels) {
  const Json generation = {{"eos_token_id", {7, 9}}};
  const Result<DecoderConfig> config = decoder_config_of(small("llama"), &generation);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->bos, 1);
  EXPECT_EQ(config->eos, (std::vector<int64_t>{7, 9}));
  const Json foreign = {{"eos_token_id", 100}};
  EXPECT_FALSE(decoder_config_of(small("llama"), &foreign).ok()) << "outside the vocabulary";
}

TEST(DecoderConfig, KindsDifferInBiasesAndNorms) {
  EXPECT_TRUE(decoder_config_of(small("qwen2"), nullptr)->qkv_bias);
  EXPECT_FALSE(decoder_config_of(small("qwen2"), nullptr)->output_bias);
  EXPECT_TRUE(decoder_config_of(small("qwen3"), nullptr)->qk_norm);
  Json biased = small("llama");
  biased["attention_bias"] = true;
  EXPECT_TRUE(decoder_config_of(biased, nullptr)->output_bias);
  Json wide = small("qwen3");
  wide["head_dim"] = 32;
  EXPECT_EQ(decoder_config_of(wide, nullptr)->head_dim, 32);
}

TEST(DecoderConfig, RefusesByNameWhatItDoesNotCompute) {
  const std::pair<const char*, Json> changes[] = {{"model_type", "gemma3_text"},
                                                  {"hidden_act", "gelu"},
                                                  {"mlp_bias", true},
                                                  {"partial_rotary_factor", 0.5},
                                                  {"quantization_config", {{"quant_method", "awq"}}},
                                                  {"rope_scaling", {{"rope_type", "longrope"}, {"factor", 2.0}}},
                                                  {"architectures", {"LlamaForSequenceClassification"}}};
  for (const auto& [member, value] : changes) {
    Json json = small("llama");
    json[member] = value;
    EXPECT_EQ(decoder_config_of(json, nullptr).error().code, Code::kUnsupported) << member;
    EXPECT_NE(refusal(json).find(member == std::string("quantization_config") ? "awq"
                                 : member == std::string("architectures")     ? "Sequence"
                                                                              : member),
              std::string::npos)
        << refusal(json);
  }
}

TEST(DecoderConfig, TheContextEndsWithTheSlidingWindowThatIsInUse) {
  const auto context = [](const Json& json) { return decoder_config_of(json, nullptr)->context; };
  Json json = small("qwen2");
  json["sliding_window"] = 64;
  EXPECT_EQ(context(json), 128);
  json["use_sliding_window"] = true;
  EXPECT_EQ(context(json), 64);
  json["sliding_window"] = 4096;
  EXPECT_EQ(context(json), 128);
  Json mistral = small("mistral");
  EXPECT_EQ(context(mistral), 128);
  mistral["sliding_window"] = 32;
  EXPECT_EQ(context(mistral), 32);
  mistral["sliding_window"] = nullptr;
  EXPECT_EQ(context(mistral), 128);
}

TEST(DecoderConfig, RefusesWhatItsDescriptionHasAndTheGraphHasNot) {
  for (const char* member : {"use_bias", "lm_head_bias", "attn_output_gate"}) {
    Json json = small("llama");
    json[member] = true;
    EXPECT_EQ(decoder_config_of(json, nullptr).error().code, Code::kUnsupported) << member;
  }
  Json experts = small("llama");
  experts.update({{"num_local_experts", 8}, {"num_experts_per_tok", 2}});
  EXPECT_EQ(decoder_config_of(experts, nullptr).error().code, Code::kUnsupported);
}

TEST(DecoderConfig, AWindowOfNoLayerDoesNotEndTheContext) {
  Json json = small("qwen2");
  json.update(
      {{"sliding_window", 64}, {"use_sliding_window", true}, {"layer_types", {"full_attention", "full_attention"}}});
  EXPECT_EQ(decoder_config_of(json, nullptr)->context, 128);
  json["layer_types"][1] = "sliding_attention";
  EXPECT_EQ(decoder_config_of(json, nullptr)->context, 64);
}

TEST(DecoderConfig, SeedOssHasBiasesAsItSays) {
  Json json = small("seed_oss");
  json["attention_bias"] = true;
  const Result<DecoderConfig> config = decoder_config_of(json, nullptr);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_TRUE(config->qkv_bias);
  EXPECT_FALSE(config->output_bias);
  json["attention_out_bias"] = true;
  EXPECT_TRUE(decoder_config_of(json, nullptr)->output_bias);
}

TEST(DecoderConfig, RefusesDimensionsThatFitNoModel) {
  const std::pair<const char*, Json> changes[] = {
      {"hidden_size", 0},   {"num_attention_heads", 3}, {"num_hidden_layers", 20000}, {"head_dim", 15},
      {"vocab_size", 1e12}, {"num_key_value_heads", 3}, {"rms_norm_eps", 0.0},        {"eos_token_id", "x"}};
  for (const auto& [member, value] : changes) {
    Json json = small("llama");
    json[member] = value;
    EXPECT_EQ(decoder_config_of(json, nullptr).error().code, Code::kInvalid) << member;
  }
}

TEST(DecoderConfig, StretchesLongWavesAndSharpensAttentionAsYarnDoes) {
  // Frequencies of a head of 16 by the formulas of transformers' _compute_yarn_parameters.
  Json json = small("qwen2");
  json["rope_theta"] = 10000.0;
  json["rope_scaling"] = {{"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 4096}};
  const auto check = [&](std::span<const double> expected, double attention_factor) {
    const Result<DecoderConfig> config = decoder_config_of(json, nullptr);
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config->context, 4 * 4096);
    EXPECT_NEAR(config->rope.attention_factor, attention_factor, 1e-12);
    const std::vector<double> scaled = rope_frequencies(config->rope, 16);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(scaled[i] / expected[i], 1, 1e-9) << i;
  };
  check(std::vector<double>{1, 0.316227766017, 0.1, 0.025693505989, 0.00625, 0.00138349647630, 0.00025,
                            0.0000790569415042},
        0.1 * std::log(4) + 1);
  json["rope_scaling"].update(
      Json{{"beta_fast", 16}, {"beta_slow", 2}, {"truncate", false}, {"attention_factor", 1.5}});
  check(std::vector<double>{1, 0.316227766017, 0.1, 0.0316227766017, 0.00676161920188, 0.000825104359474}, 1.5);
}

TEST(DecoderConfig, StretchesLongWavesAsLlama3Does) {
  // Llama 3.2 1B. Frequencies by transformers' _compute_llama3_parameters (float32).
  Json json = small("llama");
  json["rope_scaling"] = {{"rope_type", "llama3"},
                          {"factor", 32.0},
                          {"low_freq_factor", 1.0},
                          {"high_freq_factor", 4.0},
                          {"original_max_position_embeddings", 8192}};
  const Rope rope = decoder_config_of(json, nullptr)->rope;
  const std::vector<double> scaled = rope_frequencies(rope, 64);
  const std::vector<double> plain = rope_frequencies({.theta = 500000}, 64);
  ASSERT_EQ(scaled.size(), 32u);
  EXPECT_EQ(scaled[0], 1);
  EXPECT_NEAR(scaled[10], plain[10], 1e-12) << "a wave of 379 tokens";
  EXPECT_NEAR(scaled[31], plain[31] / 32, 1e-15);
  // Wave 3433 tokens: smooth = (8192 / wave - 1) / 3.
  const double wave = 2 * 3.141592653589793 / plain[15], smooth = (8192 / wave - 1) / 3;
  EXPECT_NEAR(scaled[15], (1 - smooth) * plain[15] / 32 + smooth * plain[15], 1e-12);
  EXPECT_GT(smooth, 0);
  EXPECT_LT(smooth, 1);
}

TEST(DecoderConfig, ReadsPositionsInTheirNewerForm) {
  Json json = small("llama");
  json.erase("rope_theta");
  json["rope_parameters"] = {{"rope_type", "linear"}, {"rope_theta", 1000.0}, {"factor", 4.0}};
  const Rope rope = decoder_config_of(json, nullptr)->rope;
  EXPECT_EQ(rope.theta, 1000);
  EXPECT_EQ(rope.scaling, RopeScaling::kLinear);
  EXPECT_EQ(rope_frequencies(rope, 4)[0], 0.25);
}

TEST(DecoderConfig, NamesTheFileThatIsWrong) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  EXPECT_FALSE(read_decoder_config(folder->path()).ok());
  ASSERT_TRUE(write_file_atomically(folder->path() + "/config.json", small("gpt2").dump()).ok());
  const Result<DecoderConfig> config = read_decoder_config(folder->path());
  ASSERT_FALSE(config.ok());
  EXPECT_NE(config.error().message.find("config.json"), std::string::npos);
  EXPECT_NE(config.error().message.find("gpt2"), std::string::npos);
}

}  // namespace
}  // namespace ridge::checkpoint
