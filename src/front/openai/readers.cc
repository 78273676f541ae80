#include "front/openai/readers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "front/openai/values.h"
#include "text/json_grammar.h"

namespace ridge::front::openai {
namespace {

namespace dom = simdjson::dom;

Status set_form(OpenAiReading& reading, Result<text::JsonGrammar> form) {
  if (!form) return invalid(form.error().message);
  if (reading.request.wanted.form) return invalid("the request asks for a form of its answer twice");
  reading.request.wanted.form = std::move(*form);
  return {};
}

}  // namespace

Error too_many(std::string_view name, size_t most, const char* what) {
  return invalid(in_quotes(name) + " has more than " + std::to_string(most) + " " + what);
}

void note_unknown(OpenAiReading& reading, std::string_view name) {
  std::vector<std::string>& unknown = reading.request.unknown;
  name = name.substr(0, kLongestUnknown);
  if (unknown.size() < kMostUnknown && std::ranges::find(unknown, name) == unknown.end()) unknown.emplace_back(name);
}

Status read_refused(OpenAiReading&, const dom::element&, std::string_view name) {
  return invalid(in_quotes(name) + " is not supported; leave it out");
}

Status read_prompt(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  constexpr const char* kForms = "a text, a list of texts, a list of tokens or a list of those";
  std::vector<Prompt>& prompts = reading.request.prompts;
  if (value.is_string()) {
    prompts.emplace_back(std::string(value.get_string().value_unsafe()));
    return {};
  }
  if (!value.is_array()) return wrong_member(name, kForms, value);
  const dom::array list = value.get_array().value_unsafe();
  if (list.begin() == list.end()) return invalid(in_quotes(name) + " is an empty list; give " + kForms);
  if ((*list.begin()).is_number()) {
    RIDGE_ASSIGN(std::vector<int32_t> tokens, read_tokens(value, name));
    prompts.emplace_back(std::move(tokens));
    return {};
  }
  const int most = reading.call == OpenAiCall::kEmbedding ? kMostInputs : kMostAnswers;
  for (const dom::element each : list) {
    if (prompts.size() == static_cast<size_t>(most)) return too_many(name, prompts.size(), "texts");
    if (each.is_string()) {
      prompts.emplace_back(std::string(each.get_string().value_unsafe()));
    } else if (each.is_array()) {
      RIDGE_ASSIGN(std::vector<int32_t> tokens, read_tokens(each, name));
      prompts.emplace_back(std::move(tokens));
    } else {
      return wrong_member(name, kForms, each);
    }
  }
  return {};
}

Status read_tokens_to_show(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(std::vector<int32_t> tokens, read_tokens(value, name));
  reading.request.prompts.emplace_back(std::move(tokens));
  return {};
}

// An unsupported part of a schema is the client's to change.
Status read_expression(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(const std::string_view expression, read_string(value, in_quotes(name)));
  return set_form(reading, text::JsonGrammar::of_expression(expression));
}

Status read_choice(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  constexpr const char* kForm = "a list of texts that are not empty";
  std::vector<std::string> texts;
  if (!value.is_array()) return wrong_member(name, kForm, value);
  for (const dom::element each : dom::array(value.get_array().value_unsafe())) {
    RIDGE_ASSIGN(const std::string_view text, read_string(each, in_quotes(name)));
    if (!text.empty()) texts.emplace_back(text);
  }
  if (texts.empty()) return wrong_member(name, kForm, value);
  return set_form(reading, text::JsonGrammar::of_choice(texts));
}

// A schema, or the text of one.
Status read_schema(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(Json schema, json_of(value, name));
  if (schema.is_string()) {
    RIDGE_ASSIGN(schema, parse_json(schema.get<std::string>(), in_quotes(name)));
  }
  return set_form(reading, text::JsonGrammar::of(schema));
}

// Follows vLLM: {"json"}, {"regex"}, {"choice"} or {"json_object": true}.
Status read_structured(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  if (!value.is_object()) return wrong_member(name, "an object", value);
  for (const dom::key_value_pair pair : dom::object(value.get_object().value_unsafe())) {
    if (pair.value.is_null() || (pair.value.is_bool() && !pair.value.get_bool().value_unsafe())) continue;
    const std::string member = std::string(name) + "." + std::string(pair.key);
    if (pair.key == "json") {
      RIDGE_TRY(read_schema(reading, pair.value, member));
    } else if (pair.key == "regex") {
      RIDGE_TRY(read_expression(reading, pair.value, member));
    } else if (pair.key == "choice") {
      RIDGE_TRY(read_choice(reading, pair.value, member));
    } else if (pair.key == "json_object") {
      RIDGE_TRY(set_form(reading, text::JsonGrammar::of(Json::object())));
    } else {
      return invalid(in_quotes(member) + " is not supported; use json, regex or choice");
    }
  }
  return {};
}

Status read_response_format(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  std::string_view type;
  if (value["type"].get_string().get(type) != simdjson::SUCCESS)
    return invalid(in_quotes(name) + " should be an object with a 'type': text, json_object or json_schema");
  if (type == "text") return {};
  if (type == "json_object") return set_form(reading, text::JsonGrammar::of(Json::object()));
  if (type != "json_schema")
    return invalid("'response_format' has the type '" + std::string(type) +
                   "'; this server knows text, json_object and json_schema");
  dom::element given;
  if (value["json_schema"]["schema"].get(given) != simdjson::SUCCESS || !given.is_object())
    return invalid(R"('response_format' of type json_schema should have {"json_schema":{"name":…,"schema":{…}}})");
  RIDGE_ASSIGN(const Json schema, json_of(given, name));
  return set_form(reading, text::JsonGrammar::of(schema));
}

Status read_stop(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  std::vector<std::string> stop;
  const auto add = [&](const dom::element& each) -> Status {
    RIDGE_ASSIGN(const std::string_view text, read_string(each, in_quotes(name)));
    if (text.empty()) return invalid("'stop' has an empty text, which would end every answer at once");
    if (stop.size() == kMostStops) return too_many(name, kMostStops, "texts");
    if (text.size() > kLongestStop) return too_many("a text of stop", kLongestStop, "bytes");
    stop.emplace_back(text);
    return {};
  };
  if (!value.is_array()) {
    RIDGE_TRY(add(value));
  } else {
    for (const dom::element each : dom::array(value.get_array().value_unsafe())) RIDGE_TRY(add(each));
  }
  reading.request.wanted.stop = std::move(stop);
  return {};
}

Status read_logit_bias(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  if (!value.is_object()) return wrong_member(name, "an object of tokens and numbers", value);
  std::vector<std::pair<int32_t, float>> biases;
  for (const dom::key_value_pair row : dom::object(value.get_object().value_unsafe())) {
    int32_t token = 0;
    const auto [end, failure] = std::from_chars(row.key.data(), row.key.data() + row.key.size(), token);
    if (failure != std::errc() || end != row.key.data() + row.key.size() || token < 0)
      return invalid("'logit_bias' has the key " + in_quotes(row.key.substr(0, 60)) + "; keys are token ids");
    RIDGE_ASSIGN(const double bias, read_number(row.value, name, {-100, 100}));
    if (std::ranges::find(biases, token, &std::pair<int32_t, float>::first) != biases.end())
      return invalid("'logit_bias' has the token " + std::to_string(token) + " twice");
    if (biases.size() == kMostLogitBiases) return too_many(name, kMostLogitBiases, "tokens");
    biases.emplace_back(token, static_cast<float>(bias));
  }
  reading.request.wanted.sampling.logit_bias = std::move(biases);
  return {};
}

Status read_stream_options(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  if (!value.is_object()) return wrong_member(name, "an object", value);
  reading.has_stream_options = true;
  for (const dom::key_value_pair pair : dom::object(value.get_object().value_unsafe())) {
    const std::string member = std::string(name) + "." + std::string(pair.key);
    bool* const into = pair.key == "include_usage"            ? &reading.request.usage
                       : pair.key == "continuous_usage_stats" ? &reading.request.usage_always
                                                              : nullptr;
    if (into == nullptr) note_unknown(reading, member);
    if (into == nullptr || pair.value.is_null()) continue;
    RIDGE_ASSIGN(*into, read_bool(pair.value, in_quotes(member)));
  }
  return {};
}

// model_named() reads it.
Status read_elsewhere(OpenAiReading&, const dom::element&, std::string_view) { return {}; }

Status read_encoding(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(const std::string_view format, read_string(value, in_quotes(name)));
  reading.request.base64 = format == "base64";
  return format == "float" || format == "base64" ? Status() : invalid(in_quotes(name) + " should be float or base64");
}

Status read_modalities(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  dom::array kinds;
  std::string_view kind;
  const bool text = value.get_array().get(kinds) == simdjson::SUCCESS && kinds.size() == 1 &&
                    kinds.at(0).get_string().get(kind) == simdjson::SUCCESS && kind == "text";
  return text ? Status() : read_refused(reading, value, name);
}

Status read_include_reasoning(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(const bool wanted, read_bool(value, in_quotes(name)));
  reading.request.without_thoughts = !wanted;
  return {};
}

Status read_suffix(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  return value.is_string() && value.get_string().value_unsafe().empty() ? Status() : read_refused(reading, value, name);
}

Status read_stop_tokens(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(std::vector<int32_t> tokens, read_tokens(value, name));
  std::ranges::sort(tokens);
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  if (tokens.size() > kMostStopTokens) return too_many(name, kMostStopTokens, "different tokens");
  reading.request.wanted.stop_tokens = std::move(tokens);
  return {};
}

Status read_skip_special(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(const bool skip, read_bool(value, in_quotes(name)));
  reading.request.wanted.with_special = !skip;
  return {};
}

Status read_seed(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(const int64_t seed,
               read_integer(value, name, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
  reading.request.wanted.sampling.seed = static_cast<uint64_t>(seed);
  reading.request.wanted.has_seed = true;
  return {};
}

Status read_template_arguments(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  if (!value.is_object()) return wrong_member(name, "an object", value);
  RIDGE_ASSIGN(reading.conversation.template_arguments, json_of(value, name));
  return {};
}

}  // namespace ridge::front::openai
