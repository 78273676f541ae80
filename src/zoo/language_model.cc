#include "zoo/language_model.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "zoo/checkpoint_folder.h"
#include "zoo/safetensors_writer.h"
#include "zoo/tokenizer_files.h"

namespace ridge::zoo {
namespace {

constexpr int64_t kLlamaHeadSize = 64;
constexpr double kRopeTheta = 10'000;
constexpr double kNormEpsilon = 1e-5;
// Deviation of logits: wide enough that drawing from them is far from an even choice, narrow enough that a tied model
// seldom repeats its input.
constexpr double kLogitDeviation = 2;
constexpr double kNormDeviation = 0.1;      // so that a norm without its weights shows
constexpr double kGatedMeanSquare = 0.355;  // E[silu(x)²] · E[y²] of standard normal x, y

// Activations have deviation about 1 after each norm and each matrix; what the 2 · layers additions to the residual add
// together has it too.
class WeightList {
 public:
  explicit WeightList(const LanguageModel& model) : residual_(1 / std::sqrt(2.0 * static_cast<double>(model.layers))) {}

  void table(std::string name, int64_t rows, int64_t width) {
    add(std::move(name), {rows, width}, kLogitDeviation / std::sqrt(static_cast<double>(width)));
  }
  void matrix(std::string name, int64_t rows, int64_t columns) {
    add(std::move(name), {rows, columns}, 1 / std::sqrt(static_cast<double>(columns)));
  }
  // Its product is added to the residual; `mean_square` of what it multiplies.
  void adding_matrix(std::string name, int64_t rows, int64_t columns, double mean_square) {
    add(std::move(name), {rows, columns}, residual_ / std::sqrt(mean_square * static_cast<double>(columns)));
  }
  void norm(std::string name, int64_t width) {
    weights_.push_back({std::move(name), {width}, 1, static_cast<float>(kNormDeviation)});
  }
  std::vector<Weight> take() && { return std::move(weights_); }

 private:
  void add(std::string name, Shape shape, double deviation) {
    weights_.push_back({std::move(name), std::move(shape), 0, static_cast<float>(deviation)});
  }
  double residual_;
  std::vector<Weight> weights_;
};

std::vector<Weight> weights_of(const LanguageModel& m) {
  WeightList list(m);
  list.table("model.embed_tokens.weight", m.vocabulary, m.hidden);
  for (int64_t layer = 0; layer < m.layers; ++layer) {
    const std::string at = fmt::format("model.layers.{}.", layer);
    list.norm(at + "input_layernorm.weight", m.hidden);
    list.matrix(at + "self_attn.q_proj.weight", m.heads * kLlamaHeadSize, m.hidden);
    list.matrix(at + "self_attn.k_proj.weight", m.kv_heads * kLlamaHeadSize, m.hidden);
    list.matrix(at + "self_attn.v_proj.weight", m.kv_heads * kLlamaHeadSize, m.hidden);
    list.adding_matrix(at + "self_attn.o_proj.weight", m.hidden, m.heads * kLlamaHeadSize, 1);
    list.norm(at + "post_attention_layernorm.weight", m.hidden);
    list.matrix(at + "mlp.gate_proj.weight", m.intermediate, m.hidden);
    list.matrix(at + "mlp.up_proj.weight", m.intermediate, m.hidden);
    list.adding_matrix(at + "mlp.down_proj.weight", m.hidden, m.intermediate, kGatedMeanSquare);
  }
  list.norm("model.norm.weight", m.hidden);
  if (!m.tied) list.table("lm_head.weight", m.vocabulary, m.hidden);
  return std::move(list).take();
}

Json config_of(const LanguageModel& m, uint64_t seed, const SpecialTokens& special) {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"attention_bias", false},
          {"attention_dropout", 0.0},
          {"bos_token_id", special.begin},
          {"eos_token_id", special.end},
          {"pad_token_id", special.pad},
          {"head_dim", kLlamaHeadSize},
          {"hidden_act", "silu"},
          {"hidden_size", m.hidden},
          {"initializer_range", 0.02},
          {"intermediate_size", m.intermediate},
          {"max_position_embeddings", m.context},
          {"mlp_bias", false},
          {"num_attention_heads", m.heads},
          {"num_hidden_layers", m.layers},
          {"num_key_value_heads", m.kv_heads},
          {"pretraining_tp", 1},
          {"rms_norm_eps", kNormEpsilon},
          {"rope_scaling", nullptr},
          {"rope_theta", kRopeTheta},
          {"tie_word_embeddings", m.tied},
          {"torch_dtype", "bfloat16"},
          {"use_cache", true},
          {"vocab_size", m.vocabulary},
          {kMadeBy, {{"model", m.name}, {"seed", seed}, {"version", RIDGE_VERSION}}}};
}

Json generation_config_of(const SpecialTokens& special) {
  return {{"bos_token_id", special.begin},
          {"eos_token_id", Json::array({special.end, special.pad})},
          {"pad_token_id", special.pad},
          {"do_sample", true},
          {"temperature", 1.0},
          {"top_p", 1.0}};
}

}  // namespace

Blueprint blueprint_of(const LanguageModel& model) {
  Blueprint blueprint;
  blueprint.name = std::string(model.name);
  blueprint.opset = 0;
  blueprint.inputs = {{"input_ids", DataType::kInt32, {std::string("tokens")}}};
  blueprint.outputs = {{"logits", DataType::kFp32, {std::string("tokens"), model.vocabulary}}};
  blueprint.weights = weights_of(model);
  return blueprint;
}

Status write_checkpoint(const LanguageModel& model, uint64_t seed, const std::string& folder) {
  RIDGE_ASSIGN(CheckpointFolder files, CheckpointFolder::open(folder));
  const TokenizerFiles tokenizer = tokenizer_files(static_cast<size_t>(model.vocabulary));
  RIDGE_TRY(files.write("config.json", dump_json(config_of(model, seed, tokenizer.special), true) + "\n"));
  RIDGE_TRY(files.write("generation_config.json", dump_json(generation_config_of(tokenizer.special), true) + "\n"));
  RIDGE_TRY(files.write("tokenizer.json", tokenizer.tokenizer));
  RIDGE_TRY(files.write("tokenizer_config.json", tokenizer.config));
  RIDGE_TRY(write_safetensors(weights_of(model), seed, files.path("model.safetensors")));
  return files.commit();
}

}  // namespace ridge::zoo
