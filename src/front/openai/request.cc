#include "front/openai/request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "front/openai/conversation.h"
#include "front/openai/values.h"
#include "front/request_json.h"
#include "text/json_grammar.h"

namespace ridge::front::openai {
namespace {

namespace dom = simdjson::dom;

constexpr int64_t kMostChoices = 128;
constexpr int64_t kMostLogprobs = 20;  // as vLLM's --max-logprobs; of OpenAI's completions 5
constexpr int64_t kUsualTokens = 16;   // of a completion that says nothing of it, as OpenAI's

// What is read of a request before its parts are held against each other.
struct OpenAiReading {
  OpenAiCall call;
  OpenAiRequest request = {};
  Conversation conversation = {};
  std::optional<int64_t> best_of = {}, top_logprobs = {}, most_completion_tokens = {};
  bool wants_logprobs = false;
  bool has_stream_options = false;
  std::optional<bool> add_special = {};
};

using Read = Status (*)(OpenAiReading& reading, const dom::element& value, std::string_view name);

// ---- members of one kind; a path names the place that they are read into

template <auto First, auto... Rest>
auto& place_in(auto& object) {
  if constexpr (sizeof...(Rest) == 0)
    return object.*First;
  else
    return place_in<Rest...>(object.*First);
}

constexpr auto kRequest = &OpenAiReading::request;
constexpr auto kWanted = &OpenAiRequest::wanted;
constexpr auto kSampling = &serve::TextRequest::sampling;
constexpr auto kConversation = &OpenAiReading::conversation;

Error too_many(std::string_view name, size_t most, const char* what) {
  return invalid(in_quotes(name) + " has more than " + std::to_string(most) + " " + what);
}

template <auto... Path>
Status read_switch(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN((place_in<Path...>(reading)), read_bool(value, in_quotes(name)));
  return {};
}
template <auto... Path>
Status read_text(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN((place_in<Path...>(reading)), read_string(value, in_quotes(name)));
  return {};
}
template <auto... Path>
Status read_short_text(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(const std::string_view text, read_string(value, in_quotes(name)));
  if (text.size() > kLongestName) return too_many(name, kLongestName, "bytes");
  place_in<Path...>(reading) = text;
  return {};
}
template <int64_t Least, int64_t Most, auto... Path>
Status read_count(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(const int64_t number, read_integer(value, name, Least, Most));
  auto& place = place_in<Path...>(reading);
  if constexpr (std::is_same_v<decltype(place), int&>)
    place = static_cast<int>(number);
  else
    place = number;
  return {};
}
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

template <NumberRange Range, auto... Path>
Status read_fraction(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN((place_in<Path...>(reading)), read_number(value, name, Range));
  return {};
}
// Of a member that may only say what is so anyway.
template <bool Only>
Status read_only(OpenAiReading&, const dom::element& value, std::string_view name) {
  if (value.is_bool() && value.get_bool().value_unsafe() == Only) return {};
  return invalid(in_quotes(name) + " is not supported; leave it out");
}
Status read_refused(OpenAiReading&, const dom::element&, std::string_view name) {
  return invalid(in_quotes(name) + " is not supported; leave it out");
}
template <Status (*ReadPart)(Conversation&, const dom::element&, std::string_view)>
Status read_conversation(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  return ReadPart(reading.conversation, value, name);
}

// ---- members of their own

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

// What a schema has that is not done here is the client's to change.
Status set_form(OpenAiReading& reading, Result<text::JsonGrammar> form) {
  if (!form) return invalid(form.error().message);
  if (reading.request.wanted.form) return invalid("the request asks for a form of its answer twice");
  reading.request.wanted.form = std::move(*form);
  return {};
}

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

// As vLLM has it: {"json"}, {"regex"}, {"choice"} or {"json_object": true}.
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
  std::optional<dom::element> usage, always;
  RIDGE_TRY(pick(value.get_object().value_unsafe(),
                 std::array{MemberTarget{"include_usage", &usage}, MemberTarget{"continuous_usage_stats", &always}}));
  const auto read = [](const std::optional<dom::element>& given, const char* what, bool& into) -> Status {
    if (!given || given->is_null()) return {};
    RIDGE_ASSIGN(into, read_bool(*given, what));
    return {};
  };
  RIDGE_TRY(read(usage, "'stream_options.include_usage'", reading.request.usage));
  return read(always, "'stream_options.continuous_usage_stats'", reading.request.usage_always);
}

using Calls = uint8_t;
constexpr Calls of(OpenAiCall call) { return static_cast<Calls>(1U << static_cast<unsigned>(call)); }
constexpr Calls kText = of(OpenAiCall::kCompletion), kChat = of(OpenAiCall::kChat),
                kToVectors = of(OpenAiCall::kEmbedding), kToTokens = of(OpenAiCall::kTokenize),
                kFromTokens = of(OpenAiCall::kDetokenize);
constexpr Calls kBoth = kText | kChat, kAll = kBoth | kToVectors | kToTokens | kFromTokens;

struct Member {
  std::string_view name;
  Calls calls;
  Read read;  // of a value that is not null
};

// https://platform.openai.com/docs/api-reference, and what vLLM 0.32 has besides.
constexpr Member kMembers[] = {
    {"model", kAll, read_text<kRequest, &OpenAiRequest::model>},
    {"prompt", kText | kToTokens, read_prompt},
    {"input", kToVectors, read_prompt},
    {"encoding_format", kToVectors,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(const std::string_view format, read_string(value, in_quotes(name)));
       reading.request.base64 = format == "base64";
       return format == "float" || format == "base64" ? Status()
                                                      : invalid(in_quotes(name) + " should be float or base64");
     }},
    {"dimensions", kToVectors,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(reading.request.dimensions, read_integer(value, name, 1, kNoLimit));
       return {};
     }},
    {"tokens", kFromTokens, read_tokens_to_show},
    {"messages", kChat | kToTokens, read_conversation<read_messages>},
    {"tools", kChat | kToTokens, read_conversation<read_tools>},
    {"tool_choice", kChat, read_conversation<read_tool_choice>},
    {"parallel_tool_calls", kChat, read_switch<kConversation, &Conversation::parallel_calls>},
    {"response_format", kBoth, read_response_format},
    {"max_tokens", kText, read_count<0, kNoLimit, kRequest, kWanted, &serve::TextRequest::most_tokens>},
    {"max_tokens", kChat, read_count<1, kNoLimit, kRequest, kWanted, &serve::TextRequest::most_tokens>},
    {"max_completion_tokens", kText, read_count<0, kNoLimit, &OpenAiReading::most_completion_tokens>},
    {"max_completion_tokens", kChat, read_count<1, kNoLimit, &OpenAiReading::most_completion_tokens>},
    {"n", kBoth, read_count<1, kMostChoices, kRequest, kWanted, &serve::TextRequest::choices>},
    {"best_of", kText, read_count<1, kMostChoices, &OpenAiReading::best_of>},
    {"echo", kText, read_switch<kRequest, &OpenAiRequest::echo>},
    {"echo", kChat, read_only<false>},
    {"modalities", kChat,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       dom::array kinds;
       std::string_view kind;
       const bool text = value.get_array().get(kinds) == simdjson::SUCCESS && kinds.size() == 1 &&
                         kinds.at(0).get_string().get(kind) == simdjson::SUCCESS && kind == "text";
       return text ? Status() : read_refused(reading, value, name);
     }},
    {"include_reasoning", kChat,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(const bool wanted, read_bool(value, in_quotes(name)));
       reading.request.without_thoughts = !wanted;
       return {};
     }},
    {"reasoning_effort", kChat | kToTokens, read_short_text<kConversation, &Conversation::reasoning_effort>},
    {"documents", kChat | kToTokens, read_conversation<read_documents>},
    {"suffix", kText,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       return value.is_string() && value.get_string().value_unsafe().empty() ? Status()
                                                                             : read_refused(reading, value, name);
     }},
    {"logprobs", kText, read_count<0, kMostLogprobs, kRequest, kWanted, &serve::TextRequest::logprobs>},
    {"logprobs", kChat, read_switch<&OpenAiReading::wants_logprobs>},
    {"top_logprobs", kChat, read_count<0, kMostLogprobs, &OpenAiReading::top_logprobs>},
    {"stop", kBoth, read_stop},
    {"stop_token_ids", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(std::vector<int32_t> tokens, read_tokens(value, name));
       std::ranges::sort(tokens);
       tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
       if (tokens.size() > kMostStopTokens) return too_many(name, kMostStopTokens, "different tokens");
       reading.request.wanted.stop_tokens = std::move(tokens);
       return {};
     }},
    {"include_stop_str_in_output", kBoth, read_switch<kRequest, kWanted, &serve::TextRequest::include_stop>},
    {"ignore_eos", kBoth, read_switch<kRequest, kWanted, &serve::TextRequest::ignore_eos>},
    {"min_tokens", kBoth, read_count<0, kNoLimit, kRequest, kWanted, &serve::TextRequest::least_tokens>},
    {"skip_special_tokens", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(const bool skip, read_bool(value, in_quotes(name)));
       reading.request.wanted.with_special = !skip;
       return {};
     }},
    {"seed", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(const int64_t seed, read_integer(value, name, std::numeric_limits<int64_t>::min(), kNoLimit));
       reading.request.wanted.sampling.seed = static_cast<uint64_t>(seed);
       reading.request.wanted.has_seed = true;
       return {};
     }},
    {"temperature", kBoth,
     read_fraction<NumberRange{0, 100}, kRequest, kWanted, kSampling, &generate::Sampling::temperature>},
    {"top_p", kBoth, read_fraction<NumberRange{0, 1, true}, kRequest, kWanted, kSampling, &generate::Sampling::top_p>},
    {"top_k", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(const int64_t most, read_integer(value, name, -1, std::numeric_limits<int32_t>::max()));
       reading.request.wanted.sampling.top_k = static_cast<int>(std::max<int64_t>(most, 0));
       return {};
     }},
    {"min_p", kBoth, read_fraction<NumberRange{0, 1}, kRequest, kWanted, kSampling, &generate::Sampling::min_p>},
    {"presence_penalty", kBoth,
     read_fraction<NumberRange{-2, 2}, kRequest, kWanted, kSampling, &generate::Sampling::presence_penalty>},
    {"frequency_penalty", kBoth,
     read_fraction<NumberRange{-2, 2}, kRequest, kWanted, kSampling, &generate::Sampling::frequency_penalty>},
    {"repetition_penalty", kBoth,
     read_fraction<NumberRange{0, 100, true}, kRequest, kWanted, kSampling, &generate::Sampling::repetition_penalty>},
    {"logit_bias", kBoth, read_logit_bias},
    {"stream", kBoth, read_switch<kRequest, &OpenAiRequest::stream>},
    {"stream_options", kBoth, read_stream_options},
    {"user", kBoth | kToVectors, read_short_text<kRequest, &OpenAiRequest::user>},
    {"cache_salt", kBoth, read_short_text<kRequest, &OpenAiRequest::cache_salt>},
    {"add_special_tokens", kBoth | kToVectors | kToTokens, read_switch<&OpenAiReading::add_special>},
    {"add_generation_prompt", kChat | kToTokens, read_switch<kConversation, &Conversation::add_generation_prompt>},
    {"continue_final_message", kChat | kToTokens, read_switch<kRequest, &OpenAiRequest::continue_final>},
    {"chat_template_kwargs", kChat | kToTokens,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       if (!value.is_object()) return wrong_member(name, "an object", value);
       RIDGE_ASSIGN(reading.conversation.template_arguments, json_of(value, name));
       return {};
     }},
    {"return_token_ids", kBoth, read_switch<kRequest, &OpenAiRequest::token_ids>},
    {"return_token_strs", kToTokens, read_switch<kRequest, &OpenAiRequest::token_texts>},
    {"first_token_within_ms", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(const double milliseconds, read_number(value, name, {0, 1e12}));
       reading.request.wanted.first_token_within = from_seconds(milliseconds / 1e3);
       return {};
     }},
    {"structured_outputs", kBoth, read_structured},
    {"guided_json", kBoth, read_schema},
    {"guided_regex", kBoth, read_expression},
    {"guided_choice", kBoth, read_choice},
    {"regex", kBoth, read_expression},    // SGLang
    {"json_schema", kBoth, read_schema},  // llama.cpp
    // What would make another answer, and is not there.
    {"use_beam_search", kBoth, read_only<false>},
    {"chat_template", kChat | kToTokens, read_refused},
    {"functions", kChat, read_refused},
    {"function_call", kChat, read_refused},
    {"audio", kChat, read_refused},
    {"prompt_logprobs", kBoth, read_refused},
    {"prompt_embeds", kBoth, read_refused},
    {"truncate_prompt_tokens", kBoth | kToVectors, read_refused},
    {"messages", kToVectors, read_refused},
    {"normalize", kToVectors, read_only<true>},
    {"allowed_token_ids", kBoth, read_refused},
    {"bad_words", kBoth, read_refused},
    {"logits_processors", kBoth, read_refused},
};

constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

// Members of other servers that would make another answer. They may say what is so anyway: a neutral number, false, or nothing.
struct ForeignMember {
  std::string_view name;
  std::string_view instead;
  double neutral = kNever;
};
constexpr std::string_view kUseForm = "structured_outputs (json, regex or choice)";
constexpr ForeignMember kForeign[] = {
    // llama.cpp's
    {"grammar", kUseForm},
    {"n_predict", "max_tokens", -1},
    {"n_probs", "logprobs", 0},
    {"post_sampling_probs", "logprobs"},
    {"repeat_penalty", "repetition_penalty", 1},
    {"typical_p", "top_p", 1},
    {"top_n_sigma", "min_p", -1},
    {"dynatemp_range", "temperature", 0},
    {"mirostat", "top_p", 0},
    {"dry_multiplier", "repetition_penalty", 0},
    {"xtc_probability", "temperature", 0},
    {"samplers", "the order that vLLM has"},
    {"t_max_predict_ms", "max_tokens", 0},
    {"lora", "a model of its own"},
    // SGLang's
    {"ebnf", kUseForm},
    {"structural_tag", kUseForm},
    {"lora_path", "a model of its own"},
    // vLLM's
    {"guided_grammar", kUseForm},
    {"return_tokens_as_token_ids", "return_token_ids"},
    {"logprob_token_ids", "logprobs"},
    {"thinking_token_budget", "max_tokens"},
    {"repetition_detection", "repetition_penalty"},
    {"length_penalty", "repetition_penalty", 1},
    // OpenAI's
    {"web_search_options", "a tool"},
};

bool is_neutral(const dom::element& value, double neutral) {
  switch (value.type()) {
    case dom::element_type::BOOL: return !value.get_bool().value_unsafe();
    case dom::element_type::STRING: return value.get_string().value_unsafe().empty();
    case dom::element_type::ARRAY: return dom::array(value.get_array().value_unsafe()).size() == 0;
    case dom::element_type::OBJECT: return dom::object(value.get_object().value_unsafe()).size() == 0;
    case dom::element_type::NULL_VALUE: return true;
    default: return value.get_double().value_unsafe() == neutral;
  }
}

// A member that stands in no table here is named.
Status read_foreign(OpenAiReading& reading, const dom::key_value_pair& pair) {
  const auto* row = std::ranges::find(kForeign, pair.key, &ForeignMember::name);
  if (row != std::end(kForeign) && (of(reading.call) & kBoth) != 0)
    return is_neutral(pair.value, row->neutral)
               ? Status()
               : invalid(in_quotes(pair.key) + " is not supported; use " + std::string(row->instead));
  std::vector<std::string>& unknown = reading.request.unknown;
  if (unknown.size() < kMostUnknown) unknown.emplace_back(pair.key.substr(0, kLongestName));
  return {};
}

const Member* member_of(OpenAiCall call, std::string_view name) {
  const auto* found = std::find_if(std::begin(kMembers), std::end(kMembers),
                                   [&](const Member& row) { return row.name == name && (row.calls & of(call)) != 0; });
  return found == std::end(kMembers) ? nullptr : found;
}

Status read_members(OpenAiReading& reading, const dom::object& object, std::string& about) {
  std::vector<const Member*> seen;
  for (const dom::key_value_pair pair : object) {
    const Member* member = member_of(reading.call, pair.key);
    about = pair.key;
    if (member == nullptr) {
      RIDGE_TRY(read_foreign(reading, pair));
      continue;
    }
    if (std::find(seen.begin(), seen.end(), member) != seen.end())
      return invalid("member " + in_quotes(pair.key) + " is given twice");
    seen.push_back(member);
    if (!pair.value.is_null()) RIDGE_TRY(member->read(reading, pair.value, member->name));
  }
  about.clear();
  return {};
}

Status finish_prompt(OpenAiReading& reading, std::string& about) {
  OpenAiRequest& request = reading.request;
  const bool may_converse = reading.call == OpenAiCall::kChat || reading.call == OpenAiCall::kTokenize;
  if (may_converse && !reading.conversation.messages.is_null()) {
    if (request.prompts.empty()) return finish_conversation(std::move(reading.conversation), request, about);
    return invalid("the request has 'messages' and 'prompt'; give one of them");
  }
  if (!request.prompts.empty()) return {};
  about = reading.call == OpenAiCall::kChat         ? "messages"
          : reading.call == OpenAiCall::kEmbedding  ? "input"
          : reading.call == OpenAiCall::kDetokenize ? "tokens"
                                                    : "prompt";
  return invalid("the request has no " + in_quotes(about));
}

Status check_together(OpenAiReading& reading, std::string& about) {
  OpenAiRequest& request = reading.request;
  serve::TextRequest& wanted = request.wanted;
  if (reading.best_of && *reading.best_of != wanted.choices) {
    about = "best_of";
    return invalid("'best_of' other than 'n' is not supported; leave it out");
  }
  if (reading.call != OpenAiCall::kEmbedding &&
      static_cast<int64_t>(request.prompts.size()) * wanted.choices > kMostAnswers) {
    about = "n";
    return invalid("the request asks for more than " + std::to_string(kMostAnswers) + " answers");
  }
  if (reading.top_logprobs && !reading.wants_logprobs) {
    about = "top_logprobs";
    return invalid("'top_logprobs' needs 'logprobs': true");
  }
  if (reading.wants_logprobs) wanted.logprobs = static_cast<int>(reading.top_logprobs.value_or(0));
  if (reading.has_stream_options && !request.stream) {
    about = "stream_options";
    return invalid("'stream_options' needs 'stream': true");
  }
  if (reading.most_completion_tokens) wanted.most_tokens = reading.most_completion_tokens;
  if (wanted.most_tokens == 0 && !request.echo) {
    about = reading.most_completion_tokens ? "max_completion_tokens" : "max_tokens";
    return invalid(in_quotes(about) + " is 0, which generates nothing; with 'echo' it gives the prompt's logprobs");
  }
  if (wanted.most_tokens && wanted.least_tokens > *wanted.most_tokens) {
    about = "min_tokens";
    return invalid("'min_tokens' is more than the request's most tokens");
  }
  wanted.prompt_logprobs = request.echo && wanted.logprobs >= 0;
  return {};
}

}  // namespace

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 says so of the lists of `reading` while it is made
Result<OpenAiRequest> read_openai_request(const Body& body, OpenAiCall call, const HabitsOf& habits_of,
                                          std::string& about) {
  about.clear();
  JsonParser parser;
  RIDGE_ASSIGN(const dom::object object, parser.parse(body.text()));
  OpenAiReading reading{.call = call};
  OpenAiRequest& request = reading.request;
  if (call == OpenAiCall::kCompletion) request.wanted.most_tokens = kUsualTokens;
  std::string_view model;
  if (object["model"].get_string().get(model) != simdjson::SUCCESS) model = {};
  ModelHabits habits = habits_of(std::string(model));
  request.wanted.sampling = std::move(habits.sampling);
  request.answers = habits.answers;
  RIDGE_TRY(read_members(reading, object, about));
  RIDGE_TRY(finish_prompt(reading, about));
  RIDGE_TRY(check_together(reading, about));
  request.add_special = reading.add_special.value_or(request.variables.is_null());  // templates write theirs
  return std::move(request);
}
#pragma GCC diagnostic pop

}  // namespace ridge::front::openai
