#include "sizing/llm_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge::sizing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json llama3() {
  return {{"model_type", "llama"},   {"hidden_size", 4096},          {"intermediate_size", 14336},
          {"num_hidden_layers", 32}, {"num_attention_heads", 32},    {"num_key_value_heads", 8},
          {"vocab_size", 128256},    {"tie_word_embeddings", false}, {"max_position_embeddings", 8192}};
}

LlmConfig read(const Json& json) {
  auto config = llm_config_from_json(json, "config.json");
  if (config) return *config;
  ADD_FAILURE() << config.error().message;
  return {};
}

std::string refusal(const Json& json) {
  auto config = llm_config_from_json(json, "config.json");
  return config ? "read" : config.error().message;
}

TEST(LlmConfig, ReadsLlama) {
  LlmConfig config = read(llama3());
  EXPECT_EQ(config.shape.head_dim, 128);
  EXPECT_EQ(config.shape.context, 8192);
  EXPECT_DOUBLE_EQ(parameters_of(config.shape).total, 8030261248.0);
  EXPECT_THAT(config.notes, IsEmpty());
}

TEST(LlmConfig, KnowsTheBiasesOfQwen2) {
  // Model card of Qwen/Qwen2.5-7B: 7.61 B parameters, 28 layers, 28 heads and 4 of keys and values.
  LlmConfig config = read({{"model_type", "qwen2"},
                           {"hidden_size", 3584},
                           {"intermediate_size", 18944},
                           {"num_hidden_layers", 28},
                           {"num_attention_heads", 28},
                           {"num_key_value_heads", 4},
                           {"vocab_size", 152064},
                           {"tie_word_embeddings", false},
                           {"use_sliding_window", false},
                           {"sliding_window", 131072}});
  EXPECT_DOUBLE_EQ(parameters_of(config.shape).total, 7615616512.0);
  EXPECT_THAT(config.notes, IsEmpty());
}

TEST(LlmConfig, KnowsTheExpertsOfQwen3) {
  // Model card of Qwen/Qwen3-30B-A3B: 30.5 B in total, 3.3 B activated; 128 experts of which 8 are used.
  LlmConfig config = read({{"model_type", "qwen3_moe"},
                           {"hidden_size", 2048},
                           {"intermediate_size", 6144},
                           {"moe_intermediate_size", 768},
                           {"num_hidden_layers", 48},
                           {"num_attention_heads", 32},
                           {"num_key_value_heads", 4},
                           {"head_dim", 128},
                           {"vocab_size", 151936},
                           {"num_experts", 128},
                           {"num_experts_per_tok", 8},
                           {"tie_word_embeddings", false},
                           {"decoder_sparse_step", 1},
                           {"mlp_only_layers", Json::array()}});
  LlmParameters p = parameters_of(config.shape);
  EXPECT_NEAR(1e-9 * p.total, 30.5, 0.05);
  EXPECT_NEAR(1e-9 * p.active, 3.35, 0.05);
}

TEST(LlmConfig, ReadsGpt2ByItsOwnNames) {
  LlmConfig config = read({{"model_type", "gpt2"},
                           {"n_layer", 12},
                           {"n_head", 12},
                           {"n_embd", 768},
                           {"n_positions", 1024},
                           {"vocab_size", 50257}});
  EXPECT_DOUBLE_EQ(parameters_of(config.shape).total, 124439808.0);
}

TEST(LlmConfig, TakesTheTextPartOfAModelForSeveralMedia) {
  LlmConfig config = read({{"model_type", "llava"}, {"vision_config", Json::object()}, {"text_config", llama3()}});
  EXPECT_EQ(config.shape.layers, 32);
  EXPECT_THAT(config.notes, Contains(HasSubstr("text part")));
}

TEST(LlmConfig, SaysWhatItAssumes) {
  Json json = llama3();
  json["model_type"] = "brandnew";
  json["sliding_window"] = 4096;
  LlmConfig config = read(json);
  EXPECT_THAT(config.notes, Contains(HasSubstr("'brandnew'")));
  EXPECT_THAT(config.notes, Contains(HasSubstr("4096")));
}

TEST(LlmConfig, RefusesEncodersWhichKeepNoKeysAndValues) {
  Json bert{{"model_type", "bert"},    {"architectures", {"BertForMaskedLM"}},
            {"hidden_size", 768},      {"intermediate_size", 3072},
            {"num_hidden_layers", 12}, {"num_attention_heads", 12},
            {"vocab_size", 30522}};
  for (const char* type : {"bert", "roberta", "electra", "distilbert", "vit", "t5"}) {
    bert["model_type"] = type;
    EXPECT_THAT(refusal(bert), HasSubstr(type));
  }
  bert.erase("architectures");
  EXPECT_NE(refusal(bert), "read");
  bert["architectures"] = {"BertLMHeadModel"};
  EXPECT_EQ(refusal(bert), "read");
  bert["model_type"] = "brandnew";
  bert["architectures"] = {"BrandnewForSequenceClassification"};
  EXPECT_NE(refusal(bert), "read");
}

TEST(LlmConfig, ReadsThePrecisionOfThePublishedWeights) {
  Json json = llama3();
  EXPECT_FALSE(read(json).precision);
  json["torch_dtype"] = "bfloat16";
  EXPECT_EQ(read(json).precision, Precision::kBf16);
  json["dtype"] = "float32";
  EXPECT_EQ(read(json).precision, Precision::kFp32);
  EXPECT_EQ(read({{"model_type", "llava"}, {"text_config", json}}).precision, Precision::kFp32);
}

TEST(LlmConfig, RefusesWhatTheFormulasDoNotDescribe) {
  Json json = llama3();
  json["kv_lora_rank"] = 512;
  EXPECT_THAT(refusal(json), HasSubstr("latent attention"));
  json = llama3();
  json["is_encoder_decoder"] = true;
  EXPECT_THAT(refusal(json), HasSubstr("encoder-decoder"));
}

TEST(LlmConfig, NamesTheMemberThatIsWrong) {
  for (const char* member :
       {"num_hidden_layers", "hidden_size", "vocab_size", "num_attention_heads", "intermediate_size"}) {
    Json json = llama3();
    json.erase(member);
    EXPECT_THAT(refusal(json), HasSubstr(member));
    json[member] = "many";
    EXPECT_THAT(refusal(json), HasSubstr(member));
    json[member] = -1;
    EXPECT_THAT(refusal(json), HasSubstr(member));
  }
  Json json = llama3();
  json["num_key_value_heads"] = 7;
  EXPECT_THAT(refusal(json), HasSubstr("7 heads"));
  json = llama3();
  json["num_local_experts"] = 8;
  EXPECT_THAT(refusal(json), HasSubstr("num_experts_per_tok"));
  EXPECT_THAT(refusal(Json::array()), HasSubstr("object"));
}

TEST(LlmFlags, StandForTheConfigsMembers) {
  auto config = llm_config_from_flags("layers=32,heads=32,kv-heads=8,hidden=4096,vocabulary=128256,intermediate=14336");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_DOUBLE_EQ(parameters_of(config->shape).total, 8030261248.0);
  for (const char* wrong : {"", "layers", "layers=", "layers=0", "layer=3", "layers=32"})
    EXPECT_FALSE(llm_config_from_flags(wrong)) << wrong;
}

}  // namespace
}  // namespace ridge::sizing
