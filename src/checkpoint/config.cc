#include "checkpoint/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "checkpoint/architectures.h"
#include "checkpoint/quantisation.h"

namespace ridge::checkpoint {
namespace {

constexpr std::array<std::pair<AttentionKind, std::string_view>, 4> kAttentionKinds = {
    {{AttentionKind::kFull, "full"},
     {AttentionKind::kWindow, "window"},
     {AttentionKind::kLatent, "latent"},
     {AttentionKind::kLinear, "linear"}}};

constexpr int64_t kLargest = int64_t{1} << 31;  // of one member: products of two stay in 64 bits
constexpr int64_t kMostLayers = 10000;

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

// Kinds of layers that are not described here, by a member unique to them.
constexpr std::array<std::pair<const char*, const char*>, 7> kForeign = {{
    {"state_size", "a state space in place of a cache"},
    {"ssm_cfg", "a state space in place of a cache"},
    {"ssm_state_size", "some state-space layers"},
    {"mamba_d_state", "some state-space layers"},
    {"mamba_num_heads", "some state-space layers"},
    {"block_configs", "layers of different widths"},
    {"linear_attn_config", "some layers of Kimi's linear attention"},
}};

Status refuse_foreign(const Json& json) {
  for (const auto& [member, kind] : kForeign)
    if (json.contains(member) && !json[member].is_null())
      return Error{
          Code::kUnsupported,
          fmt::format("member '{}' is {}; full, sliding-window, latent and gated-delta-net attention are known", member,
                      kind)};
  RIDGE_ASSIGN(bool crossed, json_member_or<bool>(json, "is_encoder_decoder", false));
  if (crossed) return Error{Code::kUnsupported, "an encoder-decoder model; only decoders can be sized"};
  return ok_status();
}

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

// The config's architectures decide, else the kind of its text part. A decoder's body alone is sized too.
Status refuse_encoder(const Json& json, const Json& text) {
  RIDGE_ASSIGN(const std::string type, json_member_or<std::string>(text, "model_type", ""));
  const std::vector<std::string> architectures = architectures_of(json);
  if (std::any_of(architectures.begin(), architectures.end(), generates)) return ok_status();
  const bool encoder = std::find(kEncoders.begin(), kEncoders.end(), type) != kEncoders.end();
  const bool decoder = architecture_of(type) != nullptr;
  if (!encoder && (decoder || architectures.empty())) return ok_status();
  if (!encoder)
    return Error{Code::kUnsupported, fmt::format("model_type '{}' ({}) is not known; plan its ONNX file instead", type,
                                                 architectures.front())};
  return Error{Code::kUnsupported,
               fmt::format("model_type '{}'{} keeps no keys and values: it has no cache to size; plan its ONNX file "
                           "instead",
                           type, architectures.empty() ? "" : " (" + architectures.front() + ")")};
}

constexpr std::array<std::pair<std::string_view, Precision>, 3> kDtypes = {
    {{"float32", Precision::kFp32}, {"bfloat16", Precision::kBf16}, {"float16", Precision::kFp16}}};

Status read_dtype(const Json& json, Config& config) {
  RIDGE_ASSIGN(std::string older, json_member_or<std::string>(json, "torch_dtype", ""));
  RIDGE_ASSIGN(const std::string name, json_member_or<std::string>(json, "dtype", std::move(older)));
  for (const auto& [known, precision] : kDtypes)
    if (name == known) config.precision = precision;
  return ok_status();
}

// Checks an unknown kind: the transformers library's dense models with SiLU and an RMS norm have Llama's three
// matrices, while those with another activation or norm have two or three, and experts are counted by many names.
Status check_llamas_form(const Json& json, const std::string& type) {
  RIDGE_ASSIGN(const std::string activation, json_member_or<std::string>(json, "hidden_act", ""));
  std::string other = activation != "silu"             ? "hidden_act '" + activation + "'"
                      : !json.contains("rms_norm_eps") ? "no rms_norm_eps"
                                                       : "";
  for (const auto& [name, value] : json.items())
    for (const char* part : {"expert", "moe", "multi_query", "ffn", "mlp_type", "kv_heads", "conv", "state", "shared"})
      if ((value.is_number() || value == true || value.is_array() || value.is_string()) &&
          name.find(part) != std::string::npos)
        other = "member '" + name + "'";
  if (other.empty()) return ok_status();
  return Error{Code::kUnsupported,
               fmt::format("model_type '{}' is not known, and it is not built as Llama's ({}): its weights cannot be "
                           "counted; plan its ONNX file, or give the dimensions of a model like it by --llm",
                           type, other)};
}

Result<Architecture> kind_of(const Json& json, Model& model) {
  RIDGE_ASSIGN(const std::string type, json_member_or<std::string>(json, "model_type", ""));
  if (const Architecture* known = architecture_of(type)) return *known;
  RIDGE_TRY(check_llamas_form(json, type));
  model.notes.push_back(
      fmt::format("model_type '{}' is not known: taken as Llama's, as its activation and norm are; biases and norms "
                  "of its own are not counted",
                  type));
  return Architecture{};
}

// Parts of a model for several media whose config has its text part at the top or in text_config.
bool has_other_parts(const Json& json) {
  if (json.contains("text_config") && json["text_config"].is_object()) return true;
  for (const auto& [name, value] : json.items())
    for (const char* part : {"vision", "visual", "audio", "speech", "talker"})
      if (name.find(part) != std::string::npos && (value.is_object() || name == "mm_vision_tower")) return true;
  return false;
}

Status read_dimensions(const Json& json, const Architecture& kind, Model& model) {
  RIDGE_ASSIGN(model.hidden, needed(json, {"hidden_size", "n_embd", "n_embed", "d_model"}));
  RIDGE_ASSIGN(model.vocabulary, needed(json, {"vocab_size"}));
  RIDGE_ASSIGN(model.context, integer(json, {"max_position_embeddings", "n_positions", "max_seq_len"}, 0));
  RIDGE_ASSIGN(model.draft_layers, integer(json, {"num_nextn_predict_layers", "mtp_num_hidden_layers"}, 0));
  if (model.draft_layers > 8) return invalid("member 'num_nextn_predict_layers' is above 8");
  RIDGE_ASSIGN(model.tied_embeddings, json_member_or<bool>(json, "tie_word_embeddings", kind.has(Trait::kTied)));
  if (kind.has(Trait::kLearnedPositions)) model.positions = model.context + (kind.has(Trait::kMorePositions) ? 2 : 0);
  if (kind.has(Trait::kFourNorms)) model.norms_per_layer = 4;
  RIDGE_ASSIGN(const bool beside, json_member_or<bool>(json, "use_parallel_residual", false));
  RIDGE_ASSIGN(const bool parallel, json_member_or<bool>(json, "parallel_attn", kind.has(Trait::kSideBySide)));
  RIDGE_ASSIGN(const bool newer, json_member_or<bool>(json, "new_decoder_architecture", false));
  RIDGE_ASSIGN(const int64_t norms, integer(json, {"num_ln_in_parallel_attn"}, newer ? 2 : 1));
  if (kind.has(Trait::kOneNorm) || (kind.has(Trait::kSharedNorm) && (beside || parallel) && norms == 1))
    model.norms_per_layer = 1;
  model.norm_bias = kind.has(Trait::kBiases) || kind.has(Trait::kNormBias);
  RIDGE_ASSIGN(model.head_bias, json_member_or<bool>(json, "lm_head_bias", kind.has(Trait::kHeadBias)));
  model.outer_norms = kind.has(Trait::kEmbeddingNorm) ? 2 : 1;
  RIDGE_ASSIGN(const int64_t table, integer(json, {"word_embed_proj_dim"}, model.hidden));
  if (table != model.hidden)
    return Error{Code::kUnsupported, fmt::format("member 'word_embed_proj_dim' is {}, not the hidden size: tables of "
                                                 "another width are not known",
                                                 table)};
  return ok_status();
}

Result<Attention> latent_of(const Json& json, Attention a) {
  a.kind = AttentionKind::kLatent;
  RIDGE_ASSIGN(a.latent_rank, needed(json, {"kv_lora_rank"}));
  RIDGE_ASSIGN(a.query_rank, integer(json, {"q_lora_rank"}, 0));
  RIDGE_ASSIGN(a.rope_dim, needed(json, {"qk_rope_head_dim"}));
  RIDGE_ASSIGN(const int64_t nope, needed(json, {"qk_nope_head_dim"}));
  RIDGE_ASSIGN(a.value_dim, needed(json, {"v_head_dim"}));
  a.head_dim = nope + a.rope_dim;
  RIDGE_ASSIGN(a.index_heads, integer(json, {"index_n_heads"}, 0));
  RIDGE_ASSIGN(a.index_dim, integer(json, {"index_head_dim"}, 0));
  RIDGE_ASSIGN(a.index_top, integer(json, {"index_topk"}, 0));
  if ((a.index_heads > 0) != (a.index_dim > 0) || (a.index_heads > 0) != (a.index_top > 0))
    return invalid("members 'index_n_heads', 'index_head_dim' and 'index_topk' belong together");
  return a;
}

// On every matrix.
Result<bool> biases_of(const Json& json, const Architecture& kind) {
  bool biases = kind.has(Trait::kBiases);
  for (const char* name : {"use_bias", "enable_bias", "bias"}) {
    RIDGE_ASSIGN(biases, json_member_or<bool>(json, name, bool{biases}));
  }
  return biases;
}

Result<Attention> attention_of(const Json& json, const Architecture& kind, int64_t hidden) {
  Attention a;
  RIDGE_ASSIGN(a.heads, needed(json, {"num_attention_heads", "n_head", "n_heads"}));
  if (json.contains("kv_lora_rank") && !json["kv_lora_rank"].is_null()) return latent_of(json, a);
  RIDGE_ASSIGN(const bool newer, json_member_or<bool>(json, "new_decoder_architecture", false));
  RIDGE_ASSIGN(const bool multi_query, json_member_or<bool>(json, "multi_query", kind.has(Trait::kMultiQuery)));
  RIDGE_ASSIGN(a.kv_heads, integer(json, {"num_key_value_heads", "num_kv_heads", "kv_n_heads"}, a.heads));
  if (multi_query && !newer) a.kv_heads = 1;
  RIDGE_ASSIGN(a.head_dim, integer(json, {"head_dim"}, 0));
  if (a.head_dim == 0 && hidden % a.heads != 0)
    return invalid(
        fmt::format("hidden_size {} is not a multiple of the {} heads, and head_dim is not given", hidden, a.heads));
  if (a.head_dim == 0) a.head_dim = hidden / a.heads;
  if (a.kv_heads < 1 || a.heads % a.kv_heads != 0)
    return invalid(fmt::format("{} heads cannot share {} heads of keys and values", a.heads, a.kv_heads));
  a.value_dim = a.head_dim;
  RIDGE_ASSIGN(const bool bias, json_member_or<bool>(json, "attention_bias", false));
  RIDGE_ASSIGN(const bool biases, biases_of(json, kind));
  RIDGE_ASSIGN(const bool qkv_bias, json_member_or<bool>(json, "use_qkv_bias", kind.has(Trait::kQkvBias)));
  RIDGE_ASSIGN(const bool output_bias, json_member_or<bool>(json, "attention_out_bias", false));
  RIDGE_ASSIGN(const bool wide_norm, json_member_or<bool>(json, "use_qk_norm", false));
  RIDGE_ASSIGN(const bool head_norms, json_member_or<bool>(json, "qk_layernorm", false));
  a.qkv_bias = bias || biases || qkv_bias;
  a.output_bias = biases || output_bias || (bias && !kind.has(Trait::kNoOutputBias));
  a.sinks = kind.has(Trait::kSinks);
  // Llama-4's norms have no weights.
  a.qk_norm_wide = kind.has(Trait::kQkNormWide) || (head_norms && kind.has(Trait::kOwnHeadNorms));
  a.qk_norm = kind.has(Trait::kQkNorm) || (wide_norm && !a.qk_norm_wide && !kind.has(Trait::kWideExperts));
  RIDGE_ASSIGN(a.output_gate, json_member_or<bool>(json, "attn_output_gate", kind.has(Trait::kOutputGate)));
  return a;
}

Result<Attention> linear_of(const Json& json) {
  Attention a;
  a.kind = AttentionKind::kLinear;
  RIDGE_ASSIGN(a.kv_heads, needed(json, {"linear_num_key_heads"}));
  RIDGE_ASSIGN(a.heads, needed(json, {"linear_num_value_heads"}));
  RIDGE_ASSIGN(a.head_dim, needed(json, {"linear_key_head_dim"}));
  RIDGE_ASSIGN(a.value_dim, needed(json, {"linear_value_head_dim"}));
  RIDGE_ASSIGN(a.convolution, integer(json, {"linear_conv_kernel_dim"}, 4));
  return a;
}

// The kinds of the layers' attention, by layer_types, else by the kind's pattern.
Result<std::vector<AttentionKind>> attention_kinds(const Json& json, const Architecture& kind, int64_t layers,
                                                   int64_t window, AttentionKind usual) {
  std::vector<AttentionKind> kinds(static_cast<size_t>(layers), usual);
  const auto types = json.find("layer_types");
  if (types != json.end() && types->is_array() && !types->empty()) {
    if (types->size() != kinds.size())
      return invalid(fmt::format("layer_types has {} entries for {} layers", types->size(), layers));
    for (size_t i = 0; i < kinds.size(); ++i) {
      const std::string type = (*types)[i].is_string() ? (*types)[i].get<std::string>() : (*types)[i].dump();
      if (type == "full_attention") continue;
      if (type == "sliding_attention" || type == "chunked_attention")
        kinds[i] = window > 0 ? AttentionKind::kWindow : usual;
      else if (type == "linear_attention" && json.contains("linear_num_key_heads"))
        kinds[i] = AttentionKind::kLinear;
      else
        return Error{
            Code::kUnsupported,
            fmt::format("layer {} is '{}' in layer_types; full_attention, sliding_attention, chunked_attention "
                        "and the gated delta net's linear_attention are known",
                        i, type)};
    }
    return kinds;
  }
  if (json.contains("linear_num_key_heads")) {
    RIDGE_ASSIGN(const int64_t interval, integer(json, {"full_attention_interval"}, 4));
    for (size_t i = 0; i < kinds.size(); ++i)
      if (interval == 0 || (static_cast<int64_t>(i) + 1) % interval != 0) kinds[i] = AttentionKind::kLinear;
    return kinds;
  }
  if (window == 0) return kinds;
  if (const auto chunked = json.find("no_rope_layers");
      chunked != json.end() && chunked->is_array() && chunked->size() == kinds.size()) {
    for (size_t i = 0; i < kinds.size(); ++i)
      if ((*chunked)[i] != 0) kinds[i] = AttentionKind::kWindow;
    return kinds;
  }
  RIDGE_ASSIGN(const int64_t pattern,
               integer(json, {"sliding_window_pattern", "no_rope_layer_interval"}, kind.window_pattern));
  for (size_t i = 0; i < kinds.size(); ++i)
    if (pattern == 0 || (static_cast<int64_t>(i) + 1) % pattern != 0) kinds[i] = AttentionKind::kWindow;
  return kinds;
}

Result<FeedForward> experts_of(const Json& json, const Architecture& kind) {
  FeedForward f;
  f.gated = !kind.has(Trait::kPlain);
  RIDGE_ASSIGN(f.experts,
               integer(json, {"n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts"}, 0));
  if (f.experts == 0) return f;
  RIDGE_ASSIGN(f.experts_per_token,
               integer(json, {"num_experts_per_tok", "experts_per_token", "moe_topk", "moe_k", "moe_top_k"}, 0));
  if (f.experts_per_token < 1 || f.experts_per_token > f.experts)
    return invalid(fmt::format("num_experts_per_tok is {} of {} experts", f.experts_per_token, f.experts));
  RIDGE_ASSIGN(f.expert_intermediate,
               integer(json, {"moe_intermediate_size", "intermediate_size", "ffn_hidden_size"}, 0));
  if (f.expert_intermediate == 0)
    return invalid("member 'moe_intermediate_size' is missing or 0; it is needed to size the model");
  RIDGE_ASSIGN(const int64_t shared, integer(json, {"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"},
                                             kind.has(Trait::kWideExperts) ? 1 : 0));
  RIDGE_ASSIGN(f.shared_intermediate, integer(json, {"shared_expert_intermediate_size", "shared_intermediate_size"},
                                              shared * f.expert_intermediate));
  f.shared_gate = kind.has(Trait::kSharedGate) && f.shared_intermediate > 0;
  f.router_bias = kind.has(Trait::kRouterBias);
  f.expert_bias = kind.has(Trait::kExpertBias);
  return f;
}

Result<FeedForward> dense_of(const Json& json, const Architecture& kind, int64_t hidden) {
  FeedForward f;
  f.gated = !kind.has(Trait::kPlain);
  RIDGE_ASSIGN(const bool biases, biases_of(json, kind));
  RIDGE_ASSIGN(f.bias, json_member_or<bool>(json, "mlp_bias", biases || kind.has(Trait::kMlpBias)));
  const char* first = kind.has(Trait::kWideExperts) ? "intermediate_size_mlp" : "intermediate_size";
  RIDGE_ASSIGN(f.intermediate, integer(json, {first, "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"}, 0));
  if (f.intermediate == 0 && !f.gated) f.intermediate = 4 * hidden;  // GPT-2's configuration class
  if (f.intermediate == 0) return invalid("member 'intermediate_size' is missing or 0; it is needed to size the model");
  return f;
}

// Says for each layer if it has experts.
Result<std::vector<bool>> expert_layers(const Json& json, int64_t layers) {
  RIDGE_ASSIGN(const int64_t first, integer(json, {"first_k_dense_replace", "moe_layer_start_index"}, 0));
  RIDGE_ASSIGN(const int64_t usual_step,
               integer(json, {"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"}, 1));
  int64_t step = usual_step;
  if (const auto frequency = json.find("moe_layer_freq"); frequency != json.end() && frequency->is_number_integer()) {
    RIDGE_ASSIGN(step, integer(json, {"moe_layer_freq"}, 1));
  }
  std::vector<bool> has(static_cast<size_t>(layers), false);
  for (int64_t i = 0; i < layers; ++i)
    has[static_cast<size_t>(i)] =
        i >= first && step > 0 && (json.contains("moe_layer_freq") ? i % step == 0 : (i + 1) % step == 0);
  const auto dense = json.find("mlp_only_layers");
  if (dense != json.end() && dense->is_array())
    for (const Json& layer : *dense)
      if (layer.is_number_integer() && layer.get<int64_t>() >= 0 && layer.get<int64_t>() < layers)
        has[layer.get<size_t>()] = false;
  return has;
}

Status read_layers(const Json& json, const Architecture& kind, Model& model) {
  RIDGE_ASSIGN(const int64_t layers, needed(json, {"num_hidden_layers", "n_layer", "num_layers", "n_layers"}));
  if (layers > kMostLayers) return invalid(fmt::format("num_hidden_layers is {}: not a number of layers", layers));
  RIDGE_ASSIGN(const Attention attention, attention_of(json, kind, model.hidden));
  RIDGE_ASSIGN(int64_t window, integer(json, {"sliding_window", "attention_chunk_size"}, 0));
  RIDGE_ASSIGN(const bool used, json_member_or<bool>(json, "use_sliding_window", !kind.has(Trait::kWindowOff)));
  if (!used || attention.kind == AttentionKind::kLatent) window = 0;
  RIDGE_ASSIGN(const std::vector<AttentionKind> kinds, attention_kinds(json, kind, layers, window, attention.kind));
  RIDGE_ASSIGN(const FeedForward experts, experts_of(json, kind));
  RIDGE_ASSIGN(std::vector<bool> with_experts, expert_layers(json, layers));
  if (experts.experts == 0) with_experts.assign(with_experts.size(), false);
  FeedForward dense;
  if (std::find(with_experts.begin(), with_experts.end(), false) != with_experts.end()) {
    RIDGE_ASSIGN(dense, dense_of(json, kind, model.hidden));
  }
  Attention linear;
  if (std::find(kinds.begin(), kinds.end(), AttentionKind::kLinear) != kinds.end()) {
    RIDGE_ASSIGN(linear, linear_of(json));
  }
  // Layers of one sort are a group, in the order of their first; the order of layers does not matter here.
  std::vector<std::pair<AttentionKind, bool>> sorts;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const std::pair<AttentionKind, bool> sort{kinds[i], with_experts[i]};
    auto found = std::find(sorts.begin(), sorts.end(), sort);
    if (found == sorts.end()) {
      Layers group{.count = 0,
                   .attention = kinds[i] == AttentionKind::kLinear ? linear : attention,
                   .feed_forward = with_experts[i] ? experts : dense};
      group.attention.kind = kinds[i];
      if (kinds[i] == AttentionKind::kWindow) group.attention.window = window;
      model.layers.push_back(group);
      found = sorts.insert(sorts.end(), sort);
    }
    ++model.layers[static_cast<size_t>(found - sorts.begin())].count;
  }
  const auto windows = std::count(kinds.begin(), kinds.end(), AttentionKind::kWindow);
  if (windows > 0)
    model.notes.push_back(fmt::format(
        "cache: bytes per token up to the window of {} tokens; beyond it {}", window,
        windows == layers ? std::string("no more") : fmt::format("of {} of the {} layers", layers - windows, layers)));
  return ok_status();
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
  return invalid(fmt::format(
      "--llm: '{}' is not understood; known: {}. A 7B model: --llm "
      "layers=32,heads=32,hidden=4096,intermediate=11008,vocabulary=32000; a published one: its config.json",
      flag, known));
}

}  // namespace

NameTable<AttentionKind> names_of(AttentionKind) { return kAttentionKinds; }
int64_t Model::layer_count() const {
  int64_t count = 0;
  for (const Layers& group : layers) count += group.count;
  return count;
}

Result<Config> describe(const Json& json, const std::string& name, const Json* quantisation) {
  if (!json.is_object()) return invalid("a config is a JSON object");
  const Json& part = json.contains("text_config") && json["text_config"].is_object() ? json["text_config"] : json;
  // DBRX has its attention's and its experts' dimensions a level below.
  Json text = part;
  for (const char* below : {"attn_config", "ffn_config"})
    if (part.contains(below) && part[below].is_object()) text.update(part[below]);
  if (part.contains("model_type")) text["model_type"] = part["model_type"];
  Config config;
  Model& model = config.model;
  model.name = name;
  RIDGE_TRY(refuse_foreign(text));
  RIDGE_TRY(refuse_encoder(json, text));
  RIDGE_TRY(read_dtype(json, config));
  if (!config.precision) RIDGE_TRY(read_dtype(text, config));
  RIDGE_ASSIGN(const Architecture kind, kind_of(text, model));
  RIDGE_TRY(read_dimensions(text, kind, model));
  RIDGE_TRY(read_layers(text, kind, model));
  if (config.precision == Precision::kFp32)
    model.formats = {
        .attention = WeightFormat::kFp32, .feed_forward = WeightFormat::kFp32, .experts = WeightFormat::kFp32};
  const auto quantised = [&](const Json& from) -> Status {
    RIDGE_ASSIGN(const bool found, read_quantisation(from, model));
    config.quantised = config.quantised || found;
    return ok_status();
  };
  RIDGE_TRY(quantised(json));
  if (!config.quantised && &part != &json) RIDGE_TRY(quantised(text));
  if (!config.quantised && quantisation != nullptr) RIDGE_TRY(quantised(*quantisation));
  if (has_other_parts(json))
    model.notes.push_back("the text part of a multimodal model; its other parts are not counted");
  if (model.draft_layers > 0)
    model.notes.push_back(fmt::format("{} of multi-token prediction not counted in the parameters",
                                      model.draft_layers == 1 ? "a layer" : "layers"));
  return config;
}

Result<Config> config_from_json(const Json& json, const std::string& name, const Json* quantisation) {
  Result<Config> config = describe(json, name, quantisation);
  if (!config) return wrap(std::move(config).error(), "read " + name);
  return config;
}

Result<Config> config_from_flags(std::string_view flags) {
  Json json{{"model_type", "llama"}};
  for (size_t begin = 0; begin <= flags.size();) {
    size_t end = std::min(flags.find(',', begin), flags.size());
    RIDGE_TRY(read_flag(flags.substr(begin, end - begin), json));
    begin = end + 1;
  }
  Result<Config> config = describe(json, "language model");
  if (!config) return wrap(std::move(config).error(), "--llm");
  return config;
}

}  // namespace ridge::checkpoint
