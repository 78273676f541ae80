#include "checkpoint/decoder_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/fields.h"
#include "checkpoint/architectures.h"
#include "checkpoint/config.h"
#include "checkpoint/documents.h"

namespace ridge::checkpoint {
namespace {

Error unsupported(std::string message) { return {Code::kUnsupported, std::move(message)}; }

// Refuses members that would silently compute something else.
Status refuse_uncomputed(const Json& json) {
  const auto architectures = json.find("architectures");
  if (architectures != json.end() && architectures->is_array() && !architectures->empty()) {
    const std::string name =
        architectures->front().is_string() ? architectures->front().get<std::string>() : architectures->front().dump();
    if (!name.ends_with("ForCausalLM"))
      return unsupported("architecture " + name + " generates no text; one that ends in ForCausalLM does");
  }
  if (const auto found = json.find("quantization_config"); found != json.end() && !found->is_null()) {
    const std::string method =
        found->is_object() ? found->value("quant_method", Json("an unnamed method")).dump() : found->dump();
    return unsupported("the checkpoint is quantised by " + method +
                       "; take the one in F32, F16 or BF16 and choose a form of the weights when it is opened");
  }
  RIDGE_ASSIGN(const std::string activation, json_member_or<std::string>(json, "hidden_act", "silu"));
  if (activation != "silu") return unsupported("hidden_act is '" + activation + "'; known: silu");
  RIDGE_ASSIGN(const bool mlp_bias, json_member_or<bool>(json, "mlp_bias", false));
  if (mlp_bias) return unsupported("mlp_bias: a feed-forward network with biases is not known");
  RIDGE_ASSIGN(const double rotated, json_member_or<double>(json, "partial_rotary_factor", 1.0));
  if (rotated != 1) return unsupported("partial_rotary_factor: only heads that are rotated as a whole are known");
  return {};
}

// Source: transformers, modeling_rope_utils.py (_compute_yarn_parameters).
Status read_yarn(const Json& scaling, Rope& rope) {
  double factor = 0, mscale = 0, mscale_all = 0;
  RIDGE_TRY(read_fields(scaling, [&](auto& visit) {
    visit.optional("beta_fast", rope.beta_fast, above(0));
    visit.optional("beta_slow", rope.beta_slow, above(0));
    visit.optional("truncate", rope.truncate);
    visit.optional("attention_factor", factor, above(0));
    visit.optional("mscale", mscale);
    visit.optional("mscale_all_dim", mscale_all);
  }));
  const auto sharpened = [&](double scale) { return rope.factor <= 1 ? 1 : 0.1 * scale * std::log(rope.factor) + 1; };
  const bool by_scales = mscale != 0 && mscale_all != 0;
  rope.attention_factor = factor > 0 ? factor : by_scales ? sharpened(mscale) / sharpened(mscale_all) : sharpened(1);
  return {};
}

// "rope_parameters" holds all of it in newer files, "rope_scaling" only the scaling in older ones.
Result<Rope> rope_of(const Json& json, int64_t context) {
  Rope rope;
  RIDGE_ASSIGN(rope.theta, json_member_or<double>(json, "rope_theta", rope.theta));
  const bool newer = json.contains("rope_parameters") && json["rope_parameters"].is_object();
  const char* member = newer ? "rope_parameters" : "rope_scaling";
  if (json.contains(member) && !json[member].is_null()) {
    const Json& scaling = json[member];
    RIDGE_ASSIGN(rope.theta, json_member_or<double>(scaling, "rope_theta", rope.theta));
    RIDGE_ASSIGN(std::string older, json_member_or<std::string>(scaling, "type", "default"));
    RIDGE_ASSIGN(const std::string type, json_member_or<std::string>(scaling, "rope_type", std::move(older)));
    if (type == "linear")
      rope.scaling = RopeScaling::kLinear;
    else if (type == "llama3")
      rope.scaling = RopeScaling::kLlama3;
    else if (type == "yarn")
      rope.scaling = RopeScaling::kYarn;
    else if (type == "divisors")
      rope.scaling = RopeScaling::kDivisors;
    else if (type != "default")
      return unsupported(fmt::format("{} is of type '{}'; known: default, linear, llama3, yarn", member, type));
    if (rope.scaling == RopeScaling::kDivisors) {
      RIDGE_TRY(read_fields(scaling, [&](auto& visit) { visit("divisors", rope.divisors, above(0)); }));
    } else if (rope.scaling != RopeScaling::kNone) {
      RIDGE_ASSIGN(rope.factor, json_member<double>(scaling, "factor"));
    }
    if (rope.scaling == RopeScaling::kLlama3) {
      RIDGE_ASSIGN(rope.low_freq_factor, json_member<double>(scaling, "low_freq_factor"));
      RIDGE_ASSIGN(rope.high_freq_factor, json_member<double>(scaling, "high_freq_factor"));
    }
    RIDGE_ASSIGN(rope.original_context,
                 json_member_or<double>(scaling, "original_max_position_embeddings", static_cast<double>(context)));
    if (rope.scaling == RopeScaling::kYarn) RIDGE_TRY(read_yarn(scaling, rope));
  }
  const bool bent = rope.scaling == RopeScaling::kLlama3 || rope.scaling == RopeScaling::kYarn;
  const bool sane = rope.theta > 0 && rope.factor > 0 && (!bent || rope.original_context > 0) &&
                    (rope.scaling != RopeScaling::kYarn || rope.theta != 1) &&
                    (rope.scaling != RopeScaling::kLlama3 ||
                     (rope.low_freq_factor > 0 && rope.high_freq_factor > rope.low_freq_factor));
  if (!sane || !std::isfinite(rope.theta * rope.factor))
    return invalid(std::string(member) +
                   ": its numbers scale nothing: factors are above 0, and high_freq_factor is above low_freq_factor");
  return rope;
}

// A number, or a list of them.
Result<std::vector<int64_t>> ids_of(const Json& json, const char* member, int64_t vocabulary) {
  std::vector<int64_t> ids;
  if (!json.contains(member) || json[member].is_null()) return ids;
  const Json list = json[member].is_array() ? json[member] : Json::array({json[member]});
  for (const Json& id : list) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() >= vocabulary)
      return invalid(
          fmt::format("member '{}' should be tokens of the vocabulary of {}, found {}", member, vocabulary, id.dump()));
    ids.push_back(id.get<int64_t>());
  }
  return ids;
}

// What is described and not computed would silently be left out.
bool is_computed(const Model& model) {
  return model.positions == 0 && model.norms_per_layer == 2 && model.outer_norms == 1 && !model.norm_bias &&
         !model.head_bias && std::ranges::all_of(model.layers, [](const Layers& layers) {
           const Attention& a = layers.attention;
           const FeedForward& f = layers.feed_forward;
           return (a.kind == AttentionKind::kFull || a.kind == AttentionKind::kWindow) && !a.sinks && !a.output_gate &&
                  !a.qk_norm_wide && f.gated && !f.bias && f.experts == 0;
         });
}

Status take_dimensions(const Json& json, const Model& model, DecoderConfig& config) {
  const Attention& attention = model.layers.front().attention;
  config.hidden = model.hidden;
  config.layers = model.layer_count();
  config.heads = attention.heads;
  config.kv_heads = attention.kv_heads;
  config.head_dim = attention.head_dim;
  config.intermediate = model.layers.front().feed_forward.intermediate;
  config.vocabulary = model.vocabulary;
  config.context = model.context;
  config.tied_embeddings = model.tied_embeddings;
  config.qkv_bias = attention.qkv_bias;
  config.output_bias = attention.output_bias;
  config.qk_norm = attention.qk_norm;
  if (config.context < 1) return invalid("member 'max_position_embeddings' is missing or 0");
  if (config.head_dim % 2 != 0)
    return invalid(fmt::format("head_dim is {}: rotary positions need an even one", config.head_dim));
  return read_fields(json, [&](auto& visit) { visit.optional("rms_norm_eps", config.rms_norm_eps, above(0)); });
}

// Within its sliding window a model attends to everything.
int64_t context_of(const DecoderConfig& config, const Model& model) {
  constexpr double kLongest = 1U << 31U;
  int64_t context = config.context;
  if (config.rope.scaling == RopeScaling::kYarn)
    context =
        std::max(context, static_cast<int64_t>(std::min(config.rope.original_context * config.rope.factor, kLongest)));
  for (const Layers& layers : model.layers)
    if (layers.attention.window > 0) context = std::min(context, layers.attention.window);
  return context;
}

Result<DecoderConfig> read_config(const Json& json, const Json* generation) {
  if (!json.is_object()) return invalid("a config is a JSON object");
  DecoderConfig config;
  RIDGE_ASSIGN(config.kind, json_member_or<std::string>(json, "model_type", ""));
  if (const Architecture* known = architecture_of(config.kind); known == nullptr || !known->has(Trait::kServed))
    return unsupported(fmt::format("model_type '{}' has no decoder here; known: {}", config.kind, served_types()));
  RIDGE_TRY(refuse_uncomputed(json));
  RIDGE_ASSIGN(const Config described, describe(json, {}));
  if (!is_computed(described.model))
    return unsupported(
        "its config.json describes a part that the decoder does not compute; known: full attention or a "
        "sliding window, and a dense network of three matrices without biases");
  RIDGE_TRY(take_dimensions(json, described.model, config));
  RIDGE_ASSIGN(config.rope, rope_of(json, config.context));
  config.context = context_of(config, described.model);
  if (config.rope.scaling == RopeScaling::kDivisors &&
      static_cast<int64_t>(config.rope.divisors.size()) != config.head_dim / 2)
    return invalid(fmt::format("{} divisors of positions for the {} frequencies of a head", config.rope.divisors.size(),
                               config.head_dim / 2));
  for (const Json* from : {&json, generation}) {
    if (from == nullptr || !from->is_object()) continue;
    RIDGE_ASSIGN(const std::vector<int64_t> bos, ids_of(*from, "bos_token_id", config.vocabulary));
    RIDGE_ASSIGN(std::vector<int64_t> eos, ids_of(*from, "eos_token_id", config.vocabulary));
    if (!bos.empty()) config.bos = bos.front();
    if (!eos.empty()) config.eos = std::move(eos);
  }
  return config;
}

}  // namespace

Result<DecoderConfig> decoder_config_of(const Json& config, const Json* generation) {
  return read_config(config, generation);
}

Result<DecoderConfig> read_decoder_config(const std::string& path) {
  RIDGE_ASSIGN(const ModelDocuments documents, model_documents(path));
  Result<DecoderConfig> config = read_config(*documents.config, documents.generation.get());
  if (!config) return wrap(std::move(config).error(), documents.name);
  return config;
}

std::vector<double> rope_frequencies(const Rope& rope, int64_t head_dim) {
  std::vector<double> frequencies(static_cast<size_t>(head_dim / 2));
  // YaRN: the pair of a head that makes this many turns in the original context.
  const auto pair_of = [&](double turns) {
    return static_cast<double>(head_dim) * std::log(rope.original_context / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(rope.theta));
  };
  const double fast = pair_of(rope.beta_fast), slow = pair_of(rope.beta_slow);
  const double low = std::max(rope.truncate ? std::floor(fast) : fast, 0.0);
  const double high = std::min(rope.truncate ? std::ceil(slow) : slow, static_cast<double>(head_dim - 1));
  for (size_t i = 0; i < frequencies.size(); ++i) {
    double& frequency = frequencies[i];
    frequency = std::pow(rope.theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
    if (rope.scaling == RopeScaling::kLinear) frequency /= rope.factor;
    if (rope.scaling == RopeScaling::kDivisors) frequency /= rope.divisors[i];
    if (rope.scaling != RopeScaling::kLlama3 && rope.scaling != RopeScaling::kYarn) continue;
    const double wave = 2 * std::numbers::pi / frequency;  // [tokens]
    const double smooth =
        rope.scaling == RopeScaling::kYarn
            ? 1 - (static_cast<double>(i) - low) / (high == low ? 0.001 : high - low)
            : (rope.original_context / wave - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
    const double kept = std::clamp(smooth, 0.0, 1.0);
    frequency = (1 - kept) * frequency / rope.factor + kept * frequency;
  }
  return frequencies;
}

}  // namespace ridge::checkpoint
