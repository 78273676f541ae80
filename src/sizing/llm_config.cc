#include "sizing/llm_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace ridge::sizing {
namespace {

constexpr int64_t kLargest = int64_t{1} << 40;  // of one member; a product of two stays exact in a double

// The value of the first of `names` in the config; `otherwise` if none.
Result<int64_t> integer(const Json& json, std::initializer_list<const char*> names, int64_t otherwise) {
  for (const char* name : names) {
    auto found = json.find(name);
    if (found == json.end() || found->is_null()) continue;
    if (!found->is_number_integer()) return invalid(fmt::format("member '{}' should be a whole number", name));
    int64_t value = found->get<int64_t>();
    if (value < 0 || value > kLargest) return invalid(fmt::format("member '{}' is {}: not a size", name, value));
    return value;
  }
  return otherwise;
}

Result<int64_t> needed(const Json& json, std::initializer_list<const char*> names) {
  RIDGE_ASSIGN(int64_t value, integer(json, names, 0));
  if (value > 0) return value;
  return invalid(fmt::format("member '{}' is missing or 0; it is needed to size the model", *names.begin()));
}

// Kinds whose cache or layers these formulas do not describe, by a member unique to them.
constexpr std::array<std::pair<const char*, const char*>, 6> kForeign = {{
    {"kv_lora_rank", "latent attention (a compressed cache)"},
    {"state_size", "a state space in place of a cache"},
    {"ssm_cfg", "a state space in place of a cache"},
    {"mamba_d_state", "some state-space layers"},
    {"linear_num_key_heads", "some linear-attention layers"},
    {"block_configs", "layers that differ"},
}};

Status refuse_foreign(const Json& json) {
  for (const auto& [member, kind] : kForeign)
    if (json.contains(member) && !json[member].is_null())
      return Error{Code::kUnsupported, fmt::format("member '{}' is {}; only models with keys and values in every "
                                                   "layer can be sized",
                                                   member, kind)};
  RIDGE_ASSIGN(bool crossed, json_member_or<bool>(json, "is_encoder_decoder", false));
  if (crossed) return Error{Code::kUnsupported, "an encoder-decoder model; only decoders can be sized"};
  return ok_status();
}

// A model kind's properties beyond its members. Sources: the modelling files of the transformers library.
struct Kind {
  std::string_view type;
  bool gated;
  bool biases;
  bool qkv_bias;
  bool qk_norm;
  bool learned_positions;
};
constexpr std::array<Kind, 15> kKinds = {{
    {"llama", true, false, false, false, false},
    {"mistral", true, false, false, false, false},
    {"mixtral", true, false, false, false, false},
    {"ministral", true, false, false, false, false},
    {"qwen2", true, false, true, false, false},
    {"qwen2_moe", true, false, true, false, false},
    {"qwen3", true, false, false, true, false},
    {"qwen3_moe", true, false, false, true, false},
    {"gemma", true, false, false, false, false},
    {"phi3", true, false, false, false, false},
    {"granite", true, false, false, false, false},
    {"smollm3", true, false, false, false, false},
    {"olmoe", true, false, false, false, false},
    {"gpt2", false, true, false, false, true},
    {"gpt_neox", false, true, false, false, false},
}};
// Tied unless the config says otherwise (their configuration classes' default).
constexpr std::array<std::string_view, 4> kTied = {"gpt2", "gemma", "gemma2", "gemma3_text"};

// Encoders, which keep no keys and values. Source: the modelling files of the transformers library.
constexpr std::array<std::string_view, 22> kEncoders = {
    "albert",     "bert",    "big_bird", "camembert",  "deberta",       "deberta-v2", "deit",  "dinov2",
    "distilbert", "ernie",   "electra",  "longformer", "megatron-bert", "modernbert", "mpnet", "mt5",
    "nomic_bert", "roberta", "roformer", "t5",         "vit",           "xlm-roberta"};

bool generates(const std::string& architecture) {
  for (const char* head : {"CausalLM", "LMHeadModel", "ForConditionalGeneration"})
    if (architecture.find(head) != std::string::npos) return true;
  return false;
}

std::vector<std::string> architectures_of(const Json& json) {
  std::vector<std::string> names;
  const auto list = json.find("architectures");
  if (list == json.end() || !list->is_array()) return names;
  for (const Json& name : *list)
    if (name.is_string()) names.push_back(name.get<std::string>());
  return names;
}

// The architectures of the whole config decide, or else the kind of its text part. A known decoder's body alone is sized too.
Status refuse_encoder(const Json& json, const Json& text) {
  RIDGE_ASSIGN(const std::string type, json_member_or<std::string>(text, "model_type", ""));
  const std::vector<std::string> architectures = architectures_of(json);
  if (std::any_of(architectures.begin(), architectures.end(), generates)) return ok_status();
  const bool encoder = std::find(kEncoders.begin(), kEncoders.end(), type) != kEncoders.end();
  const bool decoder = std::any_of(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.type == type; });
  if (!encoder && (decoder || architectures.empty())) return ok_status();
  return Error{Code::kUnsupported,
               fmt::format("model_type '{}'{} keeps no keys and values: it has no cache to size; plan its ONNX file "
                           "instead",
                           type, architectures.empty() ? "" : " (" + architectures.front() + ")")};
}

constexpr std::array<std::pair<std::string_view, Precision>, 3> kDtypes = {
    {{"float32", Precision::kFp32}, {"bfloat16", Precision::kBf16}, {"float16", Precision::kFp16}}};

Status read_dtype(const Json& json, LlmConfig& config) {
  RIDGE_ASSIGN(std::string older, json_member_or<std::string>(json, "torch_dtype", ""));
  RIDGE_ASSIGN(const std::string name, json_member_or<std::string>(json, "dtype", std::move(older)));
  for (const auto& [known, precision] : kDtypes)
    if (name == known) config.precision = precision;
  return ok_status();
}

Status read_kind(const Json& json, LlmConfig& config) {
  RIDGE_ASSIGN(std::string type, json_member_or<std::string>(json, "model_type", ""));
  auto kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.type == type; });
  LlmShape& shape = config.shape;
  if (kind == kKinds.end()) {
    config.notes.push_back(
        fmt::format("model_type '{}' is not known: a gated feed-forward network without biases is "
                    "assumed",
                    type));
  } else {
    shape.gated = kind->gated;
    shape.biases = kind->biases;
    shape.qkv_bias = kind->qkv_bias;
    shape.qk_norm = kind->qk_norm;
    if (kind->learned_positions) {
      RIDGE_ASSIGN(shape.positions, integer(json, {"n_positions", "max_position_embeddings"}, 0));
    }
  }
  bool tied = std::find(kTied.begin(), kTied.end(), type) != kTied.end();
  RIDGE_ASSIGN(shape.tied_embeddings, json_member_or<bool>(json, "tie_word_embeddings", tied));
  RIDGE_ASSIGN(bool bias, json_member_or<bool>(json, "attention_bias", false));
  shape.qkv_bias = shape.qkv_bias || bias;
  return ok_status();
}

Status read_dimensions(const Json& json, LlmShape& shape) {
  RIDGE_ASSIGN(shape.layers, needed(json, {"num_hidden_layers", "n_layer", "num_layers"}));
  RIDGE_ASSIGN(shape.heads, needed(json, {"num_attention_heads", "n_head"}));
  RIDGE_ASSIGN(shape.hidden, needed(json, {"hidden_size", "n_embd"}));
  RIDGE_ASSIGN(shape.vocabulary, needed(json, {"vocab_size"}));
  RIDGE_ASSIGN(shape.kv_heads, integer(json, {"num_key_value_heads"}, shape.heads));
  RIDGE_ASSIGN(shape.head_dim, integer(json, {"head_dim"}, 0));
  if (shape.head_dim == 0 && shape.hidden % shape.heads != 0)
    return invalid(fmt::format("hidden_size {} is not a multiple of the {} heads, and head_dim is not given",
                               shape.hidden, shape.heads));
  if (shape.head_dim == 0) shape.head_dim = shape.hidden / shape.heads;
  if (shape.kv_heads < 1 || shape.heads % shape.kv_heads != 0)
    return invalid(fmt::format("{} heads cannot share {} heads of keys and values", shape.heads, shape.kv_heads));
  RIDGE_ASSIGN(shape.context, integer(json, {"max_position_embeddings", "n_positions"}, 0));
  return ok_status();
}

Status read_feed_forward(const Json& json, LlmConfig& config) {
  LlmShape& shape = config.shape;
  RIDGE_ASSIGN(shape.experts, integer(json, {"num_local_experts", "num_experts"}, 0));
  RIDGE_ASSIGN(shape.experts_per_token, integer(json, {"num_experts_per_tok"}, 0));
  RIDGE_ASSIGN(shape.shared_intermediate, integer(json, {"shared_expert_intermediate_size"}, 0));
  if (shape.experts > 0 && (shape.experts_per_token < 1 || shape.experts_per_token > shape.experts))
    return invalid(fmt::format("num_experts_per_tok is {} of {} experts", shape.experts_per_token, shape.experts));
  if (shape.experts > 0) {
    RIDGE_ASSIGN(shape.intermediate, integer(json, {"moe_intermediate_size"}, 0));
  }
  if (shape.intermediate == 0) {
    RIDGE_ASSIGN(shape.intermediate, integer(json, {"intermediate_size", "n_inner"}, 0));
  }
  if (shape.intermediate == 0 && !shape.gated) shape.intermediate = 4 * shape.hidden;  // GPT-2's configuration class
  if (shape.intermediate == 0)
    return invalid("member 'intermediate_size' is missing or 0; it is needed to size the model");
  RIDGE_ASSIGN(int64_t step, integer(json, {"decoder_sparse_step"}, 1));
  bool dense_layers = json.contains("mlp_only_layers") && !json["mlp_only_layers"].empty();
  if (shape.experts > 0 && (step != 1 || dense_layers))
    return Error{Code::kUnsupported, "only some layers have experts; only models with equal layers can be sized"};
  return ok_status();
}

Status note_window(const Json& json, LlmConfig& config) {
  RIDGE_ASSIGN(int64_t window, integer(json, {"sliding_window"}, 0));
  RIDGE_ASSIGN(bool used, json_member_or<bool>(json, "use_sliding_window", true));
  if (window > 0 && used)
    config.notes.push_back(fmt::format(
        "attention of some layers looks back {} tokens at most: for longer contexts the cache given here is an "
        "upper bound",
        window));
  return ok_status();
}

Result<LlmConfig> read_config(const Json& json, const std::string& name) {
  if (!json.is_object()) return invalid("a config is a JSON object");
  const Json& text = json.contains("text_config") && json["text_config"].is_object() ? json["text_config"] : json;
  LlmConfig config;
  config.shape.name = name;
  RIDGE_TRY(refuse_foreign(text));
  RIDGE_TRY(refuse_encoder(json, text));
  RIDGE_TRY(read_dtype(json, config));
  if (!config.precision) RIDGE_TRY(read_dtype(text, config));
  RIDGE_TRY(read_kind(text, config));
  RIDGE_TRY(read_dimensions(text, config.shape));
  RIDGE_TRY(read_feed_forward(text, config));
  RIDGE_TRY(note_window(text, config));
  if (&text != &json) config.notes.push_back("the text part of a multimodal model; its other parts are not counted");
  return config;
}

// The flags' names and their members.
constexpr std::array<std::pair<std::string_view, const char*>, 10> kFlags = {{
    {"layers", "num_hidden_layers"},
    {"heads", "num_attention_heads"},
    {"kv-heads", "num_key_value_heads"},
    {"hidden", "hidden_size"},
    {"head-dim", "head_dim"},
    {"intermediate", "intermediate_size"},
    {"vocabulary", "vocab_size"},
    {"experts", "num_local_experts"},
    {"experts-per-token", "num_experts_per_tok"},
    {"context", "max_position_embeddings"},
}};

Status read_flag(std::string_view flag, Json& json) {
  if (flag == "tied") {
    json["tie_word_embeddings"] = true;
    return ok_status();
  }
  size_t equals = flag.find('=');
  std::string known = "tied";
  for (const auto& [name, member] : kFlags) {
    known += ", " + std::string(name);
    if (equals == std::string_view::npos || flag.substr(0, equals) != name) continue;
    std::string_view text = flag.substr(equals + 1);
    int64_t value = 0;
    auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size() || value < 1)
      return invalid(fmt::format("--llm {}: a number of at least 1 is expected", flag));
    json[member] = value;
    return ok_status();
  }
  return invalid(
      fmt::format("--llm: '{}' is not understood; known: {}. A 7B model: --llm "
                  "layers=32,heads=32,hidden=4096,intermediate=11008,vocabulary=32000",
                  flag, known));
}

}  // namespace

Result<LlmConfig> llm_config_from_json(const Json& json, const std::string& name) {
  Result<LlmConfig> config = read_config(json, name);
  if (!config) return wrap(std::move(config).error(), "read " + name);
  return config;
}

Result<LlmConfig> llm_config_from_flags(std::string_view flags) {
  Json json{{"model_type", "llama"}};
  for (size_t begin = 0; begin <= flags.size();) {
    size_t end = std::min(flags.find(',', begin), flags.size());
    RIDGE_TRY(read_flag(flags.substr(begin, end - begin), json));
    begin = end + 1;
  }
  Result<LlmConfig> config = read_config(json, "language model");
  if (!config) return wrap(std::move(config).error(), "--llm");
  return config;
}

}  // namespace ridge::sizing
