// Published models as worked examples: parameters and cache of config.json against what their publishers say.
//
// Exact numbers are the total of the checkpoint's safetensors (the model hub's "model size", base models); rounded ones
// are of the model card or report that is named. Dimensions are those of each model's config.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/config.h"
#include "llm/model.h"

namespace ridge::llm {
namespace {

constexpr double kBillion = 1e9;

struct Published {
  const char* name;
  const char* config;
  double total;            // parameters
  double total_tolerance;  // 0: exact
  double active;           // 0: dense, or not published
  double cache_per_token;  // [bytes] at 16 bits
  const char* source;
};

constexpr double kExact = 0;
// Rounded to three digits, and to two.
constexpr double kThree = 0.005, kTwo = 0.02;

const Published kModels[] = {
    {"GPT-2", R"({"model_type":"gpt2","n_layer":12,"n_head":12,"n_embd":768,"vocab_size":50257,"n_positions":1024})",
     124439808, kExact, 0, 36864, "openai-community/gpt2"},
    {"GPT-NeoX-20B",
     R"({"model_type":"gpt_neox","num_hidden_layers":44,"num_attention_heads":64,"hidden_size":6144,)"
     R"("intermediate_size":24576,"vocab_size":50432,"tie_word_embeddings":false})",
     20554567680, kThree, 0, 1081344, "Black et al., arXiv:2204.06745, table 1"},
    {"Llama-2-7B",
     R"({"model_type":"llama","num_hidden_layers":32,"num_attention_heads":32,"hidden_size":4096,)"
     R"("intermediate_size":11008,"vocab_size":32000})",
     6738415616, kExact, 0, 524288, "meta-llama/Llama-2-7b"},
    {"Llama-2-13B",
     R"({"model_type":"llama","num_hidden_layers":40,"num_attention_heads":40,"hidden_size":5120,)"
     R"("intermediate_size":13824,"vocab_size":32000})",
     13015864320, kExact, 0, 819200, "meta-llama/Llama-2-13b"},
    {"Llama-2-70B",
     R"({"model_type":"llama","num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,)"
     R"("hidden_size":8192,"intermediate_size":28672,"vocab_size":32000})",
     68976648192, kExact, 0, 327680, "meta-llama/Llama-2-70b"},
    {"Llama-3.1-8B",
     R"({"model_type":"llama","num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,)"
     R"("hidden_size":4096,"intermediate_size":14336,"vocab_size":128256})",
     8030261248, kExact, 0, 131072, "meta-llama/Llama-3.1-8B"},
    {"Llama-3.1-70B",
     R"({"model_type":"llama","num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,)"
     R"("hidden_size":8192,"intermediate_size":28672,"vocab_size":128256})",
     70553706496, kExact, 0, 327680, "meta-llama/Llama-3.1-70B"},
    {"Llama-3.1-405B",
     R"({"model_type":"llama","num_hidden_layers":126,"num_attention_heads":128,)"
     R"("num_key_value_heads":8,"hidden_size":16384,"intermediate_size":53248,"vocab_size":128256})",
     405853388800, kExact, 0, 516096, "meta-llama/Llama-3.1-405B"},
    {"Llama-3.2-1B",
     R"({"model_type":"llama","num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,)"
     R"("hidden_size":2048,"intermediate_size":8192,"vocab_size":128256,"tie_word_embeddings":true})",
     1235814400, kExact, 0, 32768, "meta-llama/Llama-3.2-1B"},
    {"Llama-3.2-3B",
     R"({"model_type":"llama","num_hidden_layers":28,"num_attention_heads":24,"num_key_value_heads":8,)"
     R"("hidden_size":3072,"intermediate_size":8192,"vocab_size":128256,"head_dim":128,)"
     R"("tie_word_embeddings":true})",
     3212749824, kExact, 0, 114688, "meta-llama/Llama-3.2-3B"},
    {"TinyLlama-1.1B",
     R"({"model_type":"llama","num_hidden_layers":22,"num_attention_heads":32,"num_key_value_heads":4,)"
     R"("hidden_size":2048,"intermediate_size":5632,"vocab_size":32000})",
     1100048384, kExact, 0, 22528, "TinyLlama/TinyLlama-1.1B"},
    {"Yi-34B",
     R"({"model_type":"llama","num_hidden_layers":60,"num_attention_heads":56,"num_key_value_heads":8,)"
     R"("hidden_size":7168,"intermediate_size":20480,"vocab_size":64000})",
     34388917248, kExact, 0, 245760, "01-ai/Yi-34B"},
    {"SmolLM2-1.7B",
     R"({"model_type":"llama","num_hidden_layers":24,"num_attention_heads":32,"num_key_value_heads":32,)"
     R"("hidden_size":2048,"intermediate_size":8192,"vocab_size":49152,"tie_word_embeddings":true})",
     1711376384, kExact, 0, 196608, "HuggingFaceTB/SmolLM2-1.7B"},
    {"Mistral-7B",
     R"({"model_type":"mistral","num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,)"
     R"("hidden_size":4096,"intermediate_size":14336,"vocab_size":32000,"sliding_window":null})",
     7241732096, kExact, 0, 131072, "mistralai/Mistral-7B-v0.1"},
    {"Mistral-Nemo-12B",
     R"({"model_type":"mistral","num_hidden_layers":40,"num_attention_heads":32,)"
     R"("num_key_value_heads":8,"hidden_size":5120,"head_dim":128,"intermediate_size":14336,)"
     R"("vocab_size":131072})",
     12247782400, kExact, 0, 163840, "mistralai/Mistral-Nemo-Base-2407"},
    {"Mistral-Small-24B",
     R"({"model_type":"mistral","num_hidden_layers":40,"num_attention_heads":32,)"
     R"("num_key_value_heads":8,"hidden_size":5120,"head_dim":128,"intermediate_size":32768,)"
     R"("vocab_size":131072})",
     23572403200, kExact, 0, 163840, "mistralai/Mistral-Small-24B-Base-2501"},
    {"Mistral-Large-123B",
     R"({"model_type":"mistral","num_hidden_layers":88,"num_attention_heads":96,)"
     R"("num_key_value_heads":8,"hidden_size":12288,"head_dim":128,"intermediate_size":28672,)"
     R"("vocab_size":32768})",
     122610069504, kExact, 0, 360448, "mistralai/Mistral-Large-Instruct-2407"},
    {"Mixtral-8x7B",
     R"({"model_type":"mixtral","num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,)"
     R"("hidden_size":4096,"intermediate_size":14336,"vocab_size":32000,"num_local_experts":8,)"
     R"("num_experts_per_tok":2})",
     46702792704, kExact, 12.9 * kBillion, 131072, "Jiang et al., arXiv:2401.04088, section 1"},
    {"Mixtral-8x22B",
     R"({"model_type":"mixtral","num_hidden_layers":56,"num_attention_heads":48,)"
     R"("num_key_value_heads":8,"hidden_size":6144,"intermediate_size":16384,"vocab_size":32000,)"
     R"("num_local_experts":8,"num_experts_per_tok":2})",
     141 * kBillion, kThree, 39 * kBillion, 229376, "mistralai, release notes of Mixtral 8x22B"},
    {"Qwen2.5-0.5B",
     R"({"model_type":"qwen2","num_hidden_layers":24,"num_attention_heads":14,"num_key_value_heads":2,)"
     R"("hidden_size":896,"intermediate_size":4864,"vocab_size":151936,"tie_word_embeddings":true})",
     494032768, kExact, 0, 12288, "Qwen/Qwen2.5-0.5B"},
    {"Qwen2.5-1.5B",
     R"({"model_type":"qwen2","num_hidden_layers":28,"num_attention_heads":12,"num_key_value_heads":2,)"
     R"("hidden_size":1536,"intermediate_size":8960,"vocab_size":151936,"tie_word_embeddings":true})",
     1543714304, kExact, 0, 28672, "Qwen/Qwen2.5-1.5B"},
    {"Qwen2.5-7B",
     R"({"model_type":"qwen2","num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,)"
     R"("hidden_size":3584,"intermediate_size":18944,"vocab_size":152064})",
     7615616512, kExact, 0, 57344, "Qwen/Qwen2.5-7B"},
    {"Qwen2.5-14B",
     R"({"model_type":"qwen2","num_hidden_layers":48,"num_attention_heads":40,"num_key_value_heads":8,)"
     R"("hidden_size":5120,"intermediate_size":13824,"vocab_size":152064})",
     14770033664, kExact, 0, 196608, "Qwen/Qwen2.5-14B"},
    {"Qwen2.5-32B",
     R"({"model_type":"qwen2","num_hidden_layers":64,"num_attention_heads":40,"num_key_value_heads":8,)"
     R"("hidden_size":5120,"intermediate_size":27648,"vocab_size":152064})",
     32763876352, kExact, 0, 262144, "Qwen/Qwen2.5-32B"},
    {"Qwen2.5-72B",
     R"({"model_type":"qwen2","num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,)"
     R"("hidden_size":8192,"intermediate_size":29568,"vocab_size":152064})",
     72706203648, kExact, 0, 327680, "Qwen/Qwen2.5-72B"},
    {"Qwen1.5-MoE-A2.7B",
     R"({"model_type":"qwen2_moe","num_hidden_layers":24,"num_attention_heads":16,)"
     R"("num_key_value_heads":16,"hidden_size":2048,"intermediate_size":5632,)"
     R"("moe_intermediate_size":1408,"shared_expert_intermediate_size":5632,"vocab_size":151936,)"
     R"("num_experts":60,"num_experts_per_tok":4})",
     14315784192, kExact, 2.7 * kBillion, 196608, "Qwen/Qwen1.5-MoE-A2.7B"},
    {"Qwen3-0.6B",
     R"({"model_type":"qwen3","num_hidden_layers":28,"num_attention_heads":16,"num_key_value_heads":8,)"
     R"("head_dim":128,"hidden_size":1024,"intermediate_size":3072,"vocab_size":151936,)"
     R"("tie_word_embeddings":true})",
     596049920, kExact, 0, 114688, "Qwen/Qwen3-0.6B, the head counted once"},
    {"Qwen3-4B",
     R"({"model_type":"qwen3","num_hidden_layers":36,"num_attention_heads":32,"num_key_value_heads":8,)"
     R"("head_dim":128,"hidden_size":2560,"intermediate_size":9728,"vocab_size":151936,)"
     R"("tie_word_embeddings":true})",
     4022468096, kExact, 0, 147456, "Qwen/Qwen3-4B"},
    {"Qwen3-8B",
     R"({"model_type":"qwen3","num_hidden_layers":36,"num_attention_heads":32,"num_key_value_heads":8,)"
     R"("head_dim":128,"hidden_size":4096,"intermediate_size":12288,"vocab_size":151936})",
     8190735360, kExact, 0, 147456, "Qwen/Qwen3-8B"},
    {"Qwen3-14B",
     R"({"model_type":"qwen3","num_hidden_layers":40,"num_attention_heads":40,"num_key_value_heads":8,)"
     R"("head_dim":128,"hidden_size":5120,"intermediate_size":17408,"vocab_size":151936})",
     14768307200, kExact, 0, 163840, "Qwen/Qwen3-14B"},
    {"Qwen3-32B",
     R"({"model_type":"qwen3","num_hidden_layers":64,"num_attention_heads":64,"num_key_value_heads":8,)"
     R"("head_dim":128,"hidden_size":5120,"intermediate_size":25600,"vocab_size":151936})",
     32762123264, kExact, 0, 262144, "Qwen/Qwen3-32B"},
    {"Qwen3-30B-A3B",
     R"({"model_type":"qwen3_moe","num_hidden_layers":48,"num_attention_heads":32,)"
     R"("num_key_value_heads":4,"head_dim":128,"hidden_size":2048,"moe_intermediate_size":768,)"
     R"("vocab_size":151936,"num_experts":128,"num_experts_per_tok":8,"decoder_sparse_step":1,)"
     R"("mlp_only_layers":[]})",
     30532122624, kExact, 3.3 * kBillion, 98304, "Qwen/Qwen3-30B-A3B"},
    {"Qwen3-235B-A22B",
     R"({"model_type":"qwen3_moe","num_hidden_layers":94,"num_attention_heads":64,)"
     R"("num_key_value_heads":4,"head_dim":128,"hidden_size":4096,"moe_intermediate_size":1536,)"
     R"("vocab_size":151936,"num_experts":128,"num_experts_per_tok":8,"decoder_sparse_step":1,)"
     R"("mlp_only_layers":[]})",
     235093634560, kExact, 22 * kBillion, 192512, "Qwen/Qwen3-235B-A22B"},
    {"Qwen3-Next-80B-A3B",
     R"({"model_type":"qwen3_next","num_hidden_layers":48,"num_attention_heads":16,)"
     R"("num_key_value_heads":2,"head_dim":256,"hidden_size":2048,"intermediate_size":5120,)"
     R"("moe_intermediate_size":512,"shared_expert_intermediate_size":512,"vocab_size":151936,)"
     R"("num_experts":512,"num_experts_per_tok":10,"decoder_sparse_step":1,)"
     R"("full_attention_interval":4,"linear_num_key_heads":16,"linear_num_value_heads":32,)"
     R"("linear_key_head_dim":128,"linear_value_head_dim":128,"linear_conv_kernel_dim":4})",
     80 * kBillion, kThree, 0, 24576, "Qwen/Qwen3-Next-80B-A3B-Instruct: 80B in total"},
    {"Qwen3.5-397B-A17B",
     R"({"model_type":"qwen3_5_moe_text","num_hidden_layers":60,"num_attention_heads":32,)"
     R"("num_key_value_heads":2,"head_dim":256,"hidden_size":4096,"moe_intermediate_size":1024,)"
     R"("shared_expert_intermediate_size":1024,"vocab_size":248320,"num_experts":512,)"
     R"("num_experts_per_tok":10,"full_attention_interval":4,"linear_num_key_heads":16,)"
     R"("linear_num_value_heads":64,"linear_key_head_dim":128,"linear_value_head_dim":128,)"
     R"("linear_conv_kernel_dim":4,"attn_output_gate":true})",
     397 * kBillion, kThree, 17 * kBillion, 30720, "Qwen/Qwen3.5-397B-A17B: its name"},
    {"OLMoE-1B-7B",
     R"({"model_type":"olmoe","num_hidden_layers":16,"num_attention_heads":16,"num_key_value_heads":16,)"
     R"("hidden_size":2048,"intermediate_size":1024,"vocab_size":50304,"num_experts":64,)"
     R"("num_experts_per_tok":8})",
     6919161856, kExact, 1.3 * kBillion, 131072, "Muennighoff et al., arXiv:2409.02060, table 1"},
    {"Gemma-2B",
     R"({"model_type":"gemma","num_hidden_layers":18,"num_attention_heads":8,"num_key_value_heads":1,)"
     R"("head_dim":256,"hidden_size":2048,"intermediate_size":16384,"vocab_size":256000})",
     2506172416, kExact, 0, 18432, "google/gemma-2b"},
    {"Gemma-7B",
     R"({"model_type":"gemma","num_hidden_layers":28,"num_attention_heads":16,"num_key_value_heads":16,)"
     R"("head_dim":256,"hidden_size":3072,"intermediate_size":24576,"vocab_size":256000})",
     8537680896, kExact, 0, 458752, "google/gemma-7b"},
    {"Gemma-2-9B",
     R"({"model_type":"gemma2","num_hidden_layers":42,"num_attention_heads":16,"num_key_value_heads":8,)"
     R"("head_dim":256,"hidden_size":3584,"intermediate_size":14336,"vocab_size":256000,)"
     R"("sliding_window":4096})",
     9241705984, kExact, 0, 344064, "google/gemma-2-9b; half of its layers have a window"},
    {"Gemma-2-27B",
     R"({"model_type":"gemma2","num_hidden_layers":46,"num_attention_heads":32,"num_key_value_heads":16,)"
     R"("head_dim":128,"hidden_size":4608,"intermediate_size":36864,"vocab_size":256000,)"
     R"("sliding_window":4096})",
     27227128320, kExact, 0, 376832, "google/gemma-2-27b"},
    {"Phi-3-mini",
     R"({"model_type":"phi3","num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":32,)"
     R"("hidden_size":3072,"intermediate_size":8192,"vocab_size":32064})",
     3821079552, kExact, 0, 393216, "microsoft/Phi-3-mini-4k-instruct"},
    {"Phi-4",
     R"({"model_type":"phi3","num_hidden_layers":40,"num_attention_heads":40,"num_key_value_heads":10,)"
     R"("hidden_size":5120,"intermediate_size":17920,"vocab_size":100352})",
     14659507200, kExact, 0, 204800, "microsoft/phi-4"},
    {"gpt-oss-20b",
     R"({"model_type":"gpt_oss","num_hidden_layers":24,"num_attention_heads":64,"num_key_value_heads":8,)"
     R"("head_dim":64,"hidden_size":2880,"intermediate_size":2880,"vocab_size":201088,)"
     R"("num_local_experts":32,"num_experts_per_tok":4,"attention_bias":true})",
     20.91 * kBillion, 0.001, 0, 49152, "OpenAI, gpt-oss model card, table 1"},
    {"gpt-oss-120b",
     R"({"model_type":"gpt_oss","num_hidden_layers":36,"num_attention_heads":64,"num_key_value_heads":8,)"
     R"("head_dim":64,"hidden_size":2880,"intermediate_size":2880,"vocab_size":201088,)"
     R"("num_local_experts":128,"num_experts_per_tok":4,"attention_bias":true})",
     116.83 * kBillion, 0.001, 0, 73728, "OpenAI, gpt-oss model card, table 1"},
    {"MiniMax-M2",
     R"({"model_type":"minimax_m2","num_hidden_layers":62,"num_attention_heads":48,)"
     R"("num_key_value_heads":8,"head_dim":128,"hidden_size":3072,"intermediate_size":1536,)"
     R"("vocab_size":200064,"num_local_experts":256,"num_experts_per_tok":8,"use_qk_norm":true})",
     229 * kBillion, kThree, 10 * kBillion, 253952, "MiniMaxAI/MiniMax-M2: 229B on the hub, 10B active"},
    {"GLM-4.5",
     R"({"model_type":"glm4_moe","num_hidden_layers":92,"num_attention_heads":96,"num_key_value_heads":8,)"
     R"("head_dim":128,"hidden_size":5120,"intermediate_size":12288,"moe_intermediate_size":1536,)"
     R"("vocab_size":151552,"n_routed_experts":160,"n_shared_experts":1,"num_experts_per_tok":8,)"
     R"("first_k_dense_replace":3,"attention_bias":true,"use_qk_norm":true,"num_nextn_predict_layers":1})",
     355 * kBillion, kTwo, 32 * kBillion, 376832, "zai-org/GLM-4.5: 355B, 32B active"},
    {"DeepSeek-V2-Lite",
     R"({"model_type":"deepseek_v2","num_hidden_layers":27,"num_attention_heads":16,)"
     R"("num_key_value_heads":16,"hidden_size":2048,"intermediate_size":10944,)"
     R"("moe_intermediate_size":1408,"vocab_size":102400,"n_routed_experts":64,"n_shared_experts":2,)"
     R"("num_experts_per_tok":6,"first_k_dense_replace":1,"moe_layer_freq":1,"kv_lora_rank":512,)"
     R"("q_lora_rank":null,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128})",
     15706484224, kExact, 2.4 * kBillion, 31104, "deepseek-ai/DeepSeek-V2-Lite; 576 values per layer"},
    {"DeepSeek-V3",
     R"({"model_type":"deepseek_v3","num_hidden_layers":61,"num_attention_heads":128,)"
     R"("num_key_value_heads":128,"hidden_size":7168,"intermediate_size":18432,)"
     R"("moe_intermediate_size":2048,"vocab_size":129280,"n_routed_experts":256,"n_shared_experts":1,)"
     R"("num_experts_per_tok":8,"first_k_dense_replace":3,"moe_layer_freq":1,"kv_lora_rank":512,)"
     R"("q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,)"
     R"("num_nextn_predict_layers":1})",
     671 * kBillion, 0.0005, 37 * kBillion, 70272,
     "arXiv:2412.19437, section 1; 70 KB of cache per token: Zhao et al., arXiv:2505.09343, table 1"},
    {"Kimi-K2",
     R"({"model_type":"kimi_k2","num_hidden_layers":61,"num_attention_heads":64,"num_key_value_heads":64,)"
     R"("hidden_size":7168,"intermediate_size":18432,"moe_intermediate_size":2048,"vocab_size":163840,)"
     R"("n_routed_experts":384,"n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":1,)"
     R"("moe_layer_freq":1,"kv_lora_rank":512,"q_lora_rank":1536,"qk_nope_head_dim":128,)"
     R"("qk_rope_head_dim":64,"v_head_dim":128})",
     1.04e12, kTwo, 32.6 * kBillion, 70272, "Kimi K2, arXiv:2507.20534, table 2: 1.04T, 32.6B active"},
};

TEST(Published, ParametersAndCacheAreThosePublished) {
  ASSERT_GE(std::size(kModels), 30U);
  for (const Published& p : kModels) {
    SCOPED_TRACE(std::string(p.name) + ": " + p.source);
    const auto config = checkpoint::config_from_json(*parse_json(p.config, p.name), p.name);
    ASSERT_TRUE(config) << config.error().message;
    const Parameters counted = parameters_of(config->model);
    EXPECT_NEAR(counted.total, p.total, p.total_tolerance * p.total);
    // Publishers count the embedding and the head, or not, and round to two digits.
    if (p.active > 0) {
      EXPECT_GT(p.active, 0.98 * (counted.active - counted.embedding - counted.head));
      EXPECT_LT(p.active, 1.02 * counted.active);
    }
    EXPECT_DOUBLE_EQ(cache_bytes_per_token(config->model, 16), p.cache_per_token);
  }
}

}  // namespace
}  // namespace ridge::llm
