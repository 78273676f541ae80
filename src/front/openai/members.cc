#include "front/openai/members.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "front/openai/readers.h"
#include "front/openai/values.h"

namespace ridge::front::openai {
namespace {

namespace dom = simdjson::dom;

constexpr int64_t kMostChoices = 128;
constexpr int64_t kMostLogprobs = 20;  // as vLLM's --max-logprobs; of OpenAI's completions 5
constexpr double kUnbounded = 1e18;    // a larger bound is none

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

template <auto... Path>
Status read_switch(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN((place_in<Path...>(reading)), read_bool(value, in_quotes(name)));
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
// Accepts a member only if it states the fixed behaviour.
template <bool Only>
Status read_only(OpenAiReading&, const dom::element& value, std::string_view name) {
  if (value.is_bool() && value.get_bool().value_unsafe() == Only) return {};
  return invalid(in_quotes(name) + " is not supported; leave it out");
}
template <Status (*ReadPart)(Conversation&, const dom::element&, std::string_view)>
Status read_conversation(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  return ReadPart(reading.conversation, value, name);
}

// ---- kinds

template <auto... Path>
constexpr MemberKind kSwitch{read_switch<Path...>, "boolean"};
template <auto... Path>
constexpr MemberKind kShortText{read_short_text<Path...>, "string", 0, kLongestName};
template <int64_t Least, int64_t Most, auto... Path>
constexpr MemberKind kCount{read_count<Least, Most, Path...>, "integer", Least, static_cast<double>(Most)};
template <NumberRange Range, auto... Path>
constexpr MemberKind kFraction{read_fraction<Range, Path...>, "number", Range.least, Range.most, Range.above_least};
template <bool Only>
constexpr MemberKind kOnly{read_only<Only>};
constexpr MemberKind kRefused{read_refused};

constexpr std::string_view kTexts = R"({"$ref":"#/components/schemas/Texts"})";
constexpr std::string_view kTokens = R"({"type":["array","null"],"items":{"$ref":"#/components/schemas/Token"}})";
constexpr std::string_view kMessages =
    R"({"type":"array","minItems":1,"items":{"$ref":"#/components/schemas/Message"}})";
constexpr std::string_view kTools = R"({"type":["array","null"],"items":{"$ref":"#/components/schemas/Tool"}})";
constexpr std::string_view kToolChoice =
    R"({"anyOf":[{"type":"null"},{"enum":["none","auto","required"]},{"$ref":"#/components/schemas/Tool"}]})";
constexpr std::string_view kResponseFormat = R"({"type":["object","null"],"required":["type"],)"
                                             R"("properties":{"type":{"enum":["text","json_object","json_schema"]},)"
                                             R"("json_schema":{"type":"object"}}})";
constexpr std::string_view kStop = R"({"anyOf":[{"type":"null"},{"type":"string","minLength":1},)"
                                   R"({"type":"array","items":{"type":"string","minLength":1}}]})";
constexpr std::string_view kLogitBias =
    R"({"type":["object","null"],"additionalProperties":{"type":"number","minimum":-100,"maximum":100}})";
constexpr std::string_view kStreamOptions =
    R"({"type":["object","null"],"properties":{"include_usage":{"type":"boolean"},)"
    R"("continuous_usage_stats":{"type":"boolean"}}})";
constexpr std::string_view kSchema = R"({"type":["object","boolean","string","null"]})";
constexpr std::string_view kChoices = R"({"type":["array","null"],"minItems":1,"items":{"type":"string"}})";

constexpr Calls kText = of(OpenAiCall::kCompletion), kChat = of(OpenAiCall::kChat),
                kToVectors = of(OpenAiCall::kEmbedding), kToTokens = of(OpenAiCall::kTokenize),
                kFromTokens = of(OpenAiCall::kDetokenize);
constexpr Calls kBoth = kText | kChat, kAll = kBoth | kToVectors | kToTokens | kFromTokens;

// In the manner of https://platform.openai.com/docs/api-reference, and what vLLM 0.32 has besides.
constexpr Member kMembers[] = {
    {"model", kAll, {read_elsewhere, "string"}, "may be left out where there is only one"},
    {"prompt", kText | kToTokens, {read_prompt, kTexts}},
    {"input", kToVectors, {read_prompt, kTexts}},
    {"encoding_format",
     kToVectors,
     {read_encoding, R"({"enum":["float","base64",null]})"},
     "base64: FP32, little-endian"},
    {"dimensions", kToVectors, kCount<1, kNoLimit, kRequest, &OpenAiRequest::dimensions>,
     "numbers of a vector that are kept, brought to length 1 again"},
    {"tokens", kFromTokens, {read_tokens_to_show, kTokens}},
    {"messages", kChat | kToTokens, {read_conversation<read_messages>, kMessages}},
    {"tools", kChat | kToTokens, {read_conversation<read_tools>, kTools}},
    {"tool_choice", kChat, {read_conversation<read_tool_choice>, kToolChoice}},
    {"parallel_tool_calls", kChat, kSwitch<kConversation, &Conversation::parallel_calls>, "false: at most one call"},
    {"response_format", kBoth, {read_response_format, kResponseFormat}},
    {"max_tokens", kText, kCount<0, kNoLimit, kRequest, kWanted, &serve::TextRequest::most_tokens>, "0 only with echo"},
    {"max_tokens", kChat, kCount<1, kNoLimit, kRequest, kWanted, &serve::TextRequest::most_tokens>},
    {"max_completion_tokens", kText, kCount<0, kNoLimit, &OpenAiReading::most_completion_tokens>, "0 only with echo"},
    {"max_completion_tokens", kChat, kCount<1, kNoLimit, &OpenAiReading::most_completion_tokens>},
    {"n", kBoth, kCount<1, kMostChoices, kRequest, kWanted, &serve::TextRequest::choices>, "answers to each prompt"},
    {"best_of", kText, kCount<1, kMostChoices, &OpenAiReading::best_of>, "the same as n"},
    {"echo", kText, kSwitch<kRequest, &OpenAiRequest::echo>, "the prompt stands before the answer"},
    {"echo", kChat, kOnly<false>},
    {"modalities", kChat, {read_modalities, R"({"type":["array","null"],"items":{"const":"text"}})"}},
    {"include_reasoning", kChat, {read_include_reasoning, "boolean"}, "false: thoughts are left out"},
    {"reasoning_effort", kChat | kToTokens, kShortText<kConversation, &Conversation::reasoning_effort>,
     "for the template; none: enable_thinking false"},
    {"documents", kChat | kToTokens, {read_conversation<read_documents>, "array"}, "for the template"},
    {"suffix", kText, {read_suffix}},
    {"logprobs", kText, kCount<0, kMostLogprobs, kRequest, kWanted, &serve::TextRequest::logprobs>,
     "alternatives to each token"},
    {"logprobs", kChat, kSwitch<&OpenAiReading::wants_logprobs>},
    {"top_logprobs", kChat, kCount<0, kMostLogprobs, &OpenAiReading::top_logprobs>, "alternatives to each token"},
    {"stop", kBoth, {read_stop, kStop}, "texts that end an answer"},
    {"stop_token_ids", kBoth, {read_stop_tokens, kTokens}},
    {"include_stop_str_in_output", kBoth, kSwitch<kRequest, kWanted, &serve::TextRequest::include_stop>},
    {"ignore_eos", kBoth, kSwitch<kRequest, kWanted, &serve::TextRequest::ignore_eos>},
    {"min_tokens", kBoth, kCount<0, kNoLimit, kRequest, kWanted, &serve::TextRequest::least_tokens>},
    {"skip_special_tokens", kBoth, {read_skip_special, "boolean"}, "false: special tokens are written out"},
    {"seed", kBoth, {read_seed, "integer"}},
    {"temperature", kBoth,
     kFraction<NumberRange{0, 100}, kRequest, kWanted, kSampling, &generate::Sampling::temperature>},
    {"top_p", kBoth, kFraction<NumberRange{0, 1, true}, kRequest, kWanted, kSampling, &generate::Sampling::top_p>},
    {"top_k", kBoth,
     kCount<-1, std::numeric_limits<int32_t>::max(), kRequest, kWanted, kSampling, &generate::Sampling::top_k>,
     "0 and -1: all"},
    {"min_p", kBoth, kFraction<NumberRange{0, 1}, kRequest, kWanted, kSampling, &generate::Sampling::min_p>},
    {"presence_penalty", kBoth,
     kFraction<NumberRange{-2, 2}, kRequest, kWanted, kSampling, &generate::Sampling::presence_penalty>},
    {"frequency_penalty", kBoth,
     kFraction<NumberRange{-2, 2}, kRequest, kWanted, kSampling, &generate::Sampling::frequency_penalty>},
    {"repetition_penalty", kBoth,
     kFraction<NumberRange{0, 100, true}, kRequest, kWanted, kSampling, &generate::Sampling::repetition_penalty>},
    {"logit_bias", kBoth, {read_logit_bias, kLogitBias}, "by token id"},
    {"stream", kBoth, kSwitch<kRequest, &OpenAiRequest::stream>},
    {"stream_options", kBoth, {read_stream_options, kStreamOptions}},
    {"user", kBoth | kToVectors, kShortText<kRequest, &OpenAiRequest::user>, "of fair share, where there are no keys"},
    {"cache_salt", kBoth, kShortText<kRequest, &OpenAiRequest::cache_salt>,
     "only requests with the same one share cached prefixes"},
    {"add_special_tokens", kBoth | kToVectors | kToTokens, kSwitch<&OpenAiReading::add_special>},
    {"add_generation_prompt", kChat | kToTokens, kSwitch<kConversation, &Conversation::add_generation_prompt>},
    {"continue_final_message", kChat | kToTokens, kSwitch<kRequest, &OpenAiRequest::continue_final>},
    {"chat_template_kwargs", kChat | kToTokens, {read_template_arguments, "object"}, "variables of the template"},
    {"return_token_ids", kBoth, kSwitch<kRequest, &OpenAiRequest::token_ids>},
    {"return_token_strs", kToTokens, kSwitch<kRequest, &OpenAiRequest::token_texts>},
    {"first_token_within_ms", kBoth, kFraction<NumberRange{0, 1e12}, &OpenAiReading::first_token_within_ms>,
     "ridge's own: refused at once, with what is predicted, if it would come later"},
    {"structured_outputs", kBoth, {read_structured, "object"}, "json, regex, choice or json_object"},
    {"guided_json", kBoth, {read_schema, kSchema}, "a JSON schema, or its text"},
    {"guided_regex", kBoth, {read_expression, "string"}},
    {"guided_choice", kBoth, {read_choice, kChoices}},
    {"regex", kBoth, {read_expression, "string"}, "SGLang's guided_regex"},
    {"json_schema", kBoth, {read_schema, kSchema}, "llama.cpp's guided_json"},
    // Members that would change the answer, and are not supported.
    {"use_beam_search", kBoth, kOnly<false>},
    {"chat_template", kChat | kToTokens, kRefused},
    {"functions", kChat, kRefused},
    {"function_call", kChat, kRefused},
    {"audio", kChat, kRefused},
    {"prompt_logprobs", kBoth, kRefused},
    {"prompt_embeds", kBoth, kRefused},
    {"truncate_prompt_tokens", kBoth | kToVectors, kRefused},
    {"messages", kToVectors, kRefused},
    {"normalize", kToVectors, kOnly<true>},
    {"allowed_token_ids", kBoth, kRefused},
    {"bad_words", kBoth, kRefused},
    {"logits_processors", kBoth, kRefused},
};

constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

// Members of other servers that would change the answer. They may state the default: a neutral number, false, nothing.
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

Json schema_of(const Member& member) {
  const MemberKind& kind = member.kind;
  Json schema = kind.type.starts_with('{') ? Json::parse(kind.type) : Json{{"type", {kind.type, "null"}}};
  const auto bound = [&](const char* name, double value) {
    if (std::abs(value) < kUnbounded) schema[name] = static_cast<int64_t>(value);
  };
  const bool text = kind.type == "string";
  bound(text ? "minLength" : kind.above_least ? "exclusiveMinimum" : "minimum", kind.least);
  bound(text ? "maxLength" : "maximum", kind.most);
  if (!member.description.empty()) schema["description"] = member.description;
  return schema;
}

}  // namespace

Status read_foreign(OpenAiReading& reading, const dom::key_value_pair& pair) {
  const auto* row = std::ranges::find(kForeign, pair.key, &ForeignMember::name);
  if (row != std::end(kForeign) && (of(reading.call) & kBoth) != 0)
    return is_neutral(pair.value, row->neutral)
               ? Status()
               : invalid(in_quotes(pair.key) + " is not supported; use " + std::string(row->instead));
  note_unknown(reading, pair.key);
  return {};
}

const Member* member_of(OpenAiCall call, std::string_view name) {
  const auto* found = std::find_if(std::begin(kMembers), std::end(kMembers),
                                   [&](const Member& row) { return row.name == name && (row.calls & of(call)) != 0; });
  return found == std::end(kMembers) ? nullptr : found;
}

std::string_view main_member(OpenAiCall call) {
  switch (call) {
    case OpenAiCall::kChat: return "messages";
    case OpenAiCall::kEmbedding: return "input";
    case OpenAiCall::kDetokenize: return "tokens";
    default: return "prompt";
  }
}

Json request_schema(OpenAiCall call) {
  Json schema{{"type", "object"}, {"properties", Json::object()}};
  if (call != OpenAiCall::kTokenize) schema["required"] = {main_member(call)};
  for (const Member& member : kMembers)
    if ((member.calls & of(call)) != 0 && !member.kind.type.empty())
      schema["properties"][std::string(member.name)] = schema_of(member);
  return schema;
}

}  // namespace ridge::front::openai
