#include "llm/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/config.h"

namespace ridge::llm {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json llama3() {
  return {{"model_type", "llama"},   {"hidden_size", 4096},          {"intermediate_size", 14336},
          {"num_hidden_layers", 32}, {"num_attention_heads", 32},    {"num_key_value_heads", 8},
          {"vocab_size", 128256},    {"tie_word_embeddings", false}, {"max_position_embeddings", 8192}};
}

checkpoint::Config read(const Json& json) {
  auto config = checkpoint::config_from_json(json, "config.json");
  if (config) return *config;
  ADD_FAILURE() << config.error().message;
  return {};
}

std::string refusal(const Json& json) {
  auto config = checkpoint::config_from_json(json, "config.json");
  return config ? "read" : config.error().message;
}

TEST(Config, ReadsLlama) {
  checkpoint::Config config = read(llama3());
  EXPECT_EQ(config.model.layers[0].attention.head_dim, 128);
  EXPECT_EQ(config.model.context, 8192);
  EXPECT_DOUBLE_EQ(parameters_of(config.model).total, 8030261248.0);
  EXPECT_THAT(config.model.notes, IsEmpty());
}

TEST(Config, KnowsTheBiasesOfQwen2) {
  // Model card of Qwen/Qwen2.5-7B: 7.61 B parameters, 28 layers, 28 heads and 4 of keys and values.
  checkpoint::Config config = read({{"model_type", "qwen2"},
                                    {"hidden_size", 3584},
                                    {"intermediate_size", 18944},
                                    {"num_hidden_layers", 28},
                                    {"num_attention_heads", 28},
                                    {"num_key_value_heads", 4},
                                    {"vocab_size", 152064},
                                    {"tie_word_embeddings", false},
                                    {"use_sliding_window", false},
                                    {"sliding_window", 131072}});
  EXPECT_DOUBLE_EQ(parameters_of(config.model).total, 7615616512.0);
  EXPECT_THAT(config.model.notes, IsEmpty());
}

TEST(Config, KnowsTheExpertsOfQwen3) {
  // Model card of Qwen/Qwen3-30B-A3B: 30.5 B in total, 3.3 B activated; 128 experts of which 8 are used.
  checkpoint::Config config = read({{"model_type", "qwen3_moe"},
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
  Parameters p = parameters_of(config.model);
  EXPECT_NEAR(1e-9 * p.total, 30.5, 0.05);
  EXPECT_NEAR(1e-9 * p.active, 3.35, 0.05);
}

TEST(Config, ReadsGpt2ByItsOwnNames) {
  checkpoint::Config config = read({{"model_type", "gpt2"},
                                    {"n_layer", 12},
                                    {"n_head", 12},
                                    {"n_embd", 768},
                                    {"n_positions", 1024},
                                    {"vocab_size", 50257}});
  EXPECT_DOUBLE_EQ(parameters_of(config.model).total, 124439808.0);
}

TEST(Config, TakesTheTextPartOfAModelForSeveralMedia) {
  checkpoint::Config config =
      read({{"model_type", "llava"}, {"vision_config", Json::object()}, {"text_config", llama3()}});
  EXPECT_EQ(config.model.layer_count(), 32);
  EXPECT_THAT(config.model.notes, Contains(HasSubstr("text part")));
}

TEST(Config, SaysThatPartsForOtherMediaAreNotCounted) {
  Json json = llama3();
  json["model_type"] = "qwen2_5_vl";
  json["vision_config"] = {{"depth", 32}};
  EXPECT_THAT(read(json).model.notes, Contains(HasSubstr("not counted")));
  json["vision_config"] = nullptr;
  EXPECT_THAT(read(json).model.notes, IsEmpty());
}

TEST(Config, TakesAnUnknownKindOnlyWhereItIsBuiltAsLlama) {
  Json json = llama3();
  json["model_type"] = "brandnew";
  EXPECT_THAT(refusal(json), HasSubstr("'brandnew' is not known"));
  json.update({{"hidden_act", "silu"}, {"rms_norm_eps", 1e-5}});
  EXPECT_THAT(read(json).model.notes, Contains(HasSubstr("'brandnew'")));
  json["moe_num_experts"] = 8;
  EXPECT_THAT(refusal(json), HasSubstr("moe_num_experts"));
  // The kind is reported before its missing members.
  EXPECT_THAT(refusal({{"model_type", "rwkv9"}, {"hidden_size", 4544}}), HasSubstr("'rwkv9' is not known"));
  // Members of known kinds that change what is counted.
  json.erase("moe_num_experts");
  for (const char* member : {"multi_query", "ffn_dim", "mlp_type", "num_kv_heads"}) {
    Json with = json;
    with[member] = 1;
    EXPECT_THAT(refusal(with), HasSubstr(member));
  }
  EXPECT_THAT(refusal({{"model_type", "chatglm"}, {"architectures", {"ChatGLMModel"}}}), HasSubstr("is not known"));
}

// The published config's dimensions; parameters by hand from the transformers library's modelling files.
TEST(Config, CountsKindsThatAreNotBuiltAsLlama) {
  struct Case {
    const char* config;
    double total, cache_per_token;  // [parameters], [bytes] at 16 bits
  };
  const Case cases[] = {
      // StarCoder: two matrices, biases, one head of keys and values, learned positions.
      {R"({"model_type":"gpt_bigcode","n_layer":40,"n_head":48,"n_embd":6144,"n_inner":24576,"n_positions":8192,)"
       R"("vocab_size":49152,"multi_query":true})",
       15517456384.0, 40 * 2 * 128 * 2},
      // Phi-2: attention and feed-forward network after one norm, biases everywhere, on the head too.
      {R"({"model_type":"phi","num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":32,)"
       R"("hidden_size":2560,"intermediate_size":10240,"vocab_size":51200,"hidden_act":"gelu_new",)"
       R"("tie_word_embeddings":false})",
       2779683840.0, 32 * 2 * 2560 * 2},
      // Minitron-4B: two matrices without biases, norms with.
      {R"({"model_type":"nemotron","num_hidden_layers":32,"num_attention_heads":24,"num_key_value_heads":8,)"
       R"("head_dim":128,"hidden_size":3072,"intermediate_size":9216,"vocab_size":256000,"hidden_act":"relu2",)"
       R"("tie_word_embeddings":false})",
       4190509056.0, 32 * 2 * 1024 * 2},
      // ERNIE-4.5-21B-A3B: 64 experts from the second layer on, two shared ones.
      {R"({"model_type":"ernie4_5_moe","num_hidden_layers":28,"num_attention_heads":20,"num_key_value_heads":4,)"
       R"("hidden_size":2560,"intermediate_size":12288,"vocab_size":103424,"moe_num_experts":64,"moe_k":6,)"
       R"("moe_num_shared_experts":2,"moe_intermediate_size":1536,"moe_layer_start_index":1,"moe_layer_end_index":27,)"
       R"("moe_layer_interval":1,"tie_word_embeddings":true,"use_bias":false})",
       21825437888.0, 28 * 2 * 512 * 2},
      // Falcon-7B and -40B: the second has 8 heads of keys and values and two norms.
      {R"({"model_type":"falcon","num_hidden_layers":32,"num_attention_heads":71,"hidden_size":4544,)"
       R"("vocab_size":65024,"multi_query":true,"parallel_attn":true,"bias":false})",
       6921720704.0, 32 * 2 * 64 * 2},
      {R"({"model_type":"falcon","num_hidden_layers":60,"num_attention_heads":128,"num_kv_heads":8,"hidden_size":8192,)"
       R"("vocab_size":65024,"new_decoder_architecture":true,"parallel_attn":true,"bias":false})",
       41303293952.0, 60 * 2 * 512 * 2},
      {R"({"model_type":"bloom","n_layer":24,"num_attention_heads":16,"n_embed":1024,"vocab_size":250880})",
       559214592.0, 24 * 2 * 1024 * 2},
      {R"({"model_type":"opt","num_hidden_layers":32,"num_attention_heads":32,"hidden_size":4096,"ffn_dim":16384,)"
       R"("max_position_embeddings":2048,"word_embed_proj_dim":4096,"vocab_size":50272})",
       6658473984.0, 32 * 2 * 4096 * 2},
      {R"({"model_type":"gptj","n_layer":28,"n_head":16,"n_embd":4096,"n_positions":2048,"vocab_size":50400,)"
       R"("tie_word_embeddings":false})",
       6050882784.0, 28 * 2 * 4096 * 2},
      {R"({"model_type":"mpt","n_layers":32,"n_heads":32,"d_model":4096,"max_seq_len":2048,"vocab_size":50432})",
       6649286656.0, 32 * 2 * 4096 * 2},
      {R"({"model_type":"dbrx","n_layers":40,"n_heads":48,"d_model":6144,"max_seq_len":32768,"vocab_size":100352,)"
       R"("attn_config":{"kv_n_heads":8,"model_type":""},"ffn_config":{"ffn_hidden_size":10752,"moe_num_experts":16,)"
       R"("moe_top_k":4,"model_type":""},"tie_word_embeddings":false})",
       131596523520.0, 40 * 2 * 1024 * 2},
      // StableLM-2-1.6B: norms with biases, and on queries, keys and values.
      {R"({"model_type":"stablelm","num_hidden_layers":24,"num_attention_heads":32,"num_key_value_heads":32,)"
       R"("hidden_size":2048,"intermediate_size":5632,"vocab_size":100352,"use_qkv_bias":true,"hidden_act":"silu",)"
       R"("tie_word_embeddings":false})",
       1644515328.0, 24 * 2 * 2048 * 2},
      // GLM-4-9B-0414: four norms a layer.
      {R"({"model_type":"glm4","num_hidden_layers":40,"num_attention_heads":32,"num_key_value_heads":2,"head_dim":128,)"
       R"("hidden_size":4096,"intermediate_size":13696,"vocab_size":151552,"attention_bias":true,"hidden_act":"silu",)"
       R"("rms_norm_eps":1e-5})",
       9400279040.0, 40 * 2 * 256 * 2},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.config);
    const Model model = read(*parse_json(c.config, "config")).model;
    EXPECT_DOUBLE_EQ(parameters_of(model).total, c.total);
    EXPECT_DOUBLE_EQ(cache_bytes_per_token(model, 16), c.cache_per_token);
    EXPECT_THAT(model.notes, IsEmpty());
  }
}

// The published Llama-4 has no layer_types, and an empty no_rope_layers that the library fills: every fourth layer
// attends to all.
TEST(Config, FindsTheLayersOfLlama4ThatAttendToAll) {
  Json json = llama3();
  json.update({{"model_type", "llama4_text"},
               {"num_hidden_layers", 48},
               {"attention_chunk_size", 8192},
               {"intermediate_size_mlp", 16384},
               {"no_rope_layers", Json::array()},
               {"use_qk_norm", true}});
  Model model = read(json).model;
  ASSERT_EQ(model.layers.size(), 2U);
  EXPECT_EQ(model.layers[0].count, 36);
  EXPECT_EQ(model.layers[1].count, 12);
  EXPECT_EQ(model.layers[1].attention.kind, AttentionKind::kFull);
  EXPECT_FALSE(model.layers[0].attention.qk_norm) << "its norm has no weights";
  EXPECT_THAT(model.notes, Contains(HasSubstr("8192 tokens; beyond it of 12 of the 48 layers")));
  json["no_rope_layers"] = std::vector<int>(48, 1);
  EXPECT_EQ(read(json).model.layers.size(), 1U);
}

TEST(Config, SaysWhatALayerWithAWindowKeeps) {
  Json json = llama3();
  json.update({{"model_type", "mistral"}, {"sliding_window", 4096}});
  const Model model = read(json).model;
  EXPECT_DOUBLE_EQ(cache_bytes_per_token(model, 16), 131072) << "up to the window";
  EXPECT_THAT(model.notes, Contains(HasSubstr("window of 4096 tokens; beyond it no more")));
}

TEST(Config, CountsTheTwoMatricesAndBiasesOfStarcoder2) {
  // Lozhkov et al., arXiv:2402.19173, table 5: 3B; bigcode/starcoder2-3b: 3,030,371,328 parameters.
  Json json{{"model_type", "starcoder2"}, {"hidden_size", 3072},       {"intermediate_size", 12288},
            {"num_hidden_layers", 30},    {"num_attention_heads", 24}, {"num_key_value_heads", 2},
            {"vocab_size", 49152},        {"use_bias", true},          {"hidden_act", "gelu_pytorch_tanh"}};
  EXPECT_DOUBLE_EQ(parameters_of(read(json).model).total, 3030371328.0);
  json["use_bias"] = false;
  // Queries and output of 3072 each, keys and values of 256, and the two matrices of the feed-forward network.
  EXPECT_DOUBLE_EQ(parameters_of(read(json).model).total, 3030371328.0 - 30 * (2 * 3072 + 2 * 256 + 12288 + 3072));
}

TEST(Config, CountsBiasesThatTheConfigAsksFor) {
  Json json = llama3();
  json["mlp_bias"] = true;
  EXPECT_DOUBLE_EQ(parameters_of(read(json).model).total, 8030261248.0 + 32 * (2 * 14336 + 4096));
}

TEST(Config, RefusesEncodersWhichKeepNoKeysAndValues) {
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
  EXPECT_THAT(refusal(bert), HasSubstr("not known"));
  bert["model_type"] = "brandnew";
  bert["architectures"] = {"BrandnewForSequenceClassification"};
  EXPECT_NE(refusal(bert), "read");
}

TEST(Config, ReadsThePrecisionOfThePublishedWeights) {
  Json json = llama3();
  EXPECT_FALSE(read(json).precision);
  json["torch_dtype"] = "bfloat16";
  EXPECT_EQ(read(json).precision, Precision::kBf16);
  json["dtype"] = "float32";
  EXPECT_EQ(read(json).precision, Precision::kFp32);
  EXPECT_EQ(read({{"model_type", "llava"}, {"text_config", json}}).precision, Precision::kFp32);
}

TEST(Config, RefusesKindsOfLayersThatAreNotDescribedByName) {
  Json json = llama3();
  json["is_encoder_decoder"] = true;
  EXPECT_THAT(refusal(json), HasSubstr("encoder-decoder"));
  for (const char* member : {"state_size", "mamba_d_state", "block_configs", "linear_attn_config"}) {
    json = llama3();
    json[member] = 16;
    EXPECT_THAT(refusal(json), HasSubstr(member));
  }
  json = llama3();
  json["layer_types"] = std::vector<std::string>(32, "full_attention");
  EXPECT_EQ(refusal(json), "read");
  json["layer_types"][7] = "mamba";
  EXPECT_THAT(refusal(json), HasSubstr("layer 7 is 'mamba'"));
  json["layer_types"] = {"full_attention"};
  EXPECT_THAT(refusal(json), HasSubstr("1 entries for 32 layers"));
}

TEST(Config, GroupsLayersByTheirAttentionAndExperts) {
  Json json = llama3();
  json["sliding_window"] = 128;
  for (int i = 0; i < 32; ++i) json["layer_types"].push_back(i % 2 == 0 ? "sliding_attention" : "full_attention");
  const Model windows = read(json).model;
  ASSERT_EQ(windows.layers.size(), 2U);
  EXPECT_EQ(windows.layers[0].count, 16);
  EXPECT_EQ(windows.layers[0].attention.window, 128);
  EXPECT_EQ(windows.layers[1].attention.kind, AttentionKind::kFull);

  json = llama3();
  json["model_type"] = "deepseek_v3";
  json.update({{"n_routed_experts", 8},
               {"num_experts_per_tok", 2},
               {"moe_intermediate_size", 512},
               {"n_shared_experts", 1},
               {"first_k_dense_replace", 3},
               {"moe_layer_freq", 1},
               {"kv_lora_rank", 512},
               {"qk_rope_head_dim", 64},
               {"qk_nope_head_dim", 128},
               {"v_head_dim", 128}});
  const Model latent = read(json).model;
  ASSERT_EQ(latent.layers.size(), 2U);
  EXPECT_EQ(latent.layers[0].count, 3);
  EXPECT_EQ(latent.layers[0].feed_forward.experts, 0);
  EXPECT_EQ(latent.layers[1].feed_forward.experts, 8);
  EXPECT_EQ(latent.layers[1].feed_forward.shared_intermediate, 512);
  EXPECT_EQ(latent.layers[1].attention.head_dim, 192);
  json.erase("v_head_dim");
  EXPECT_THAT(refusal(json), HasSubstr("v_head_dim"));

  json = llama3();
  json["model_type"] = "qwen3_moe";
  json.update({{"num_experts", 8},
               {"num_experts_per_tok", 2},
               {"moe_intermediate_size", 512},
               {"decoder_sparse_step", 2},
               {"mlp_only_layers", {1}}});
  const Model sparse = read(json).model;
  EXPECT_EQ(sparse.layers[0].count, 17);  // layers 0, 2, 4 … and 1
  EXPECT_EQ(sparse.layers[1].count, 15);
}

TEST(Quantisation, IsReadAsCheckpointsHaveIt) {
  struct Case {
    const char* config;
    Formats formats;
  };
  const Case cases[] = {
      {R"({"quant_method":"fp8","weight_block_size":[128,128]})",
       {WeightFormat::kFp8Block, WeightFormat::kFp8Block, WeightFormat::kFp8Block}},
      {R"({"quant_method":"fp8"})", {WeightFormat::kFp8, WeightFormat::kFp8, WeightFormat::kFp8}},
      {R"({"quant_method":"mxfp4"})", {WeightFormat::kBf16, WeightFormat::kBf16, WeightFormat::kMxfp4}},
      {R"({"quant_method":"awq","bits":4})", {WeightFormat::kInt4, WeightFormat::kInt4, WeightFormat::kInt4}},
      {R"({"quant_method":"gptq","bits":8})", {WeightFormat::kInt8, WeightFormat::kInt8, WeightFormat::kInt8}},
      {R"({"quant_method":"compressed-tensors","config_groups":{"group_0":{"weights":{"num_bits":8,"type":"float",)"
       R"("strategy":"channel"}}}})",
       {WeightFormat::kFp8, WeightFormat::kFp8, WeightFormat::kFp8}},
      {R"({"quant_method":"compressed-tensors","config_groups":{"group_0":
            {"weights":{"num_bits":4,"type":"float","group_size":16}}},
          "ignore":["lm_head","re:.*self_attn.*"]})",
       {WeightFormat::kBf16, WeightFormat::kNvfp4, WeightFormat::kNvfp4}},
      {R"({"quant_method":"compressed-tensors","format":"pack-quantized",
          "ignore":["re:.*self_attn.*","re:.*shared_experts.*","re:.*mlp\\.(gate|up|gate_up|down)_proj.*"]})",
       {WeightFormat::kBf16, WeightFormat::kBf16, WeightFormat::kInt4}},
      {R"({"quant_method":"modelopt","quant_algo":"NVFP4","ignore":["model.layers.0.self_attn*","lm_head"]})",
       {WeightFormat::kNvfp4, WeightFormat::kNvfp4, WeightFormat::kNvfp4}},
      {R"({"quant_method":"bitsandbytes","load_in_4bit":true})",
       {WeightFormat::kInt4, WeightFormat::kInt4, WeightFormat::kInt4}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.config);
    Json json = llama3();
    json["quantization_config"] = *parse_json(c.config, "quantisation");
    const checkpoint::Config config = read(json);
    EXPECT_TRUE(config.quantised);
    EXPECT_EQ(config.model.formats.attention, c.formats.attention);
    EXPECT_EQ(config.model.formats.feed_forward, c.formats.feed_forward);
    EXPECT_EQ(config.model.formats.experts, c.formats.experts);
  }
  Json json = llama3();
  json["quantization_config"] = {{"quant_method", "rabbit"}};
  EXPECT_THAT(refusal(json), HasSubstr("'rabbit'"));
  json["quantization_config"] = {{"quant_method", "awq"}, {"bits", 3}};
  EXPECT_THAT(refusal(json), HasSubstr("'3'"));
}

TEST(Quantisation, OfNvidiasCheckpointsLiesInAFileOfItsOwn) {
  Json beside{{"producer", {{"name", "modelopt"}}},
              {"quantization", {{"quant_algo", "NVFP4"}, {"exclude_modules", Json::array()}}}};
  for (int i = 0; i < 32; ++i)
    beside["quantization"]["exclude_modules"].push_back("model.layers." + std::to_string(i) + ".self_attn.q_proj");
  const auto config = checkpoint::config_from_json(llama3(), "config.json", &beside);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->model.formats.attention, WeightFormat::kBf16);  // every layer's is excluded
  EXPECT_EQ(config->model.formats.feed_forward, WeightFormat::kNvfp4);
  // By hand: matrices of the feed-forward networks in 4.5 bits, the rest in 16.
  const Parameters p = parameters_of(config->model);
  EXPECT_DOUBLE_EQ(weight_bytes(config->model, config->model.formats),
                   p.feed_forward * 4.5 / 8 + (p.total - p.feed_forward) * 2);
}

TEST(Config, NamesTheMemberThatIsWrong) {
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

TEST(Flags, StandForTheConfigsMembers) {
  auto config =
      checkpoint::config_from_flags("layers=32,heads=32,kv-heads=8,hidden=4096,vocabulary=128256,intermediate=14336");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_DOUBLE_EQ(parameters_of(config->model).total, 8030261248.0);
  for (const char* wrong : {"", "layers", "layers=", "layers=0", "layer=3", "layers=32"})
    EXPECT_FALSE(checkpoint::config_from_flags(wrong)) << wrong;
}

}  // namespace
}  // namespace ridge::llm
