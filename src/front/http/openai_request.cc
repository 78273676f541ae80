#include "front/http/openai_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "front/http/request_json.h"
#include "text/json_grammar.h"

namespace ridge::front::http {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMostMembers = 1024;  // of an object that is kept as JSON, which finds members one after another
constexpr size_t kMostStops = 4;
constexpr int64_t kMostChoices = 128;
constexpr int64_t kMostCompletionLogprobs = 5, kMostChatLogprobs = 20;
constexpr int64_t kUsualTokens = 16;  // of a completion that says nothing of it, as OpenAI's

Error wrong_member(std::string_view name, const char* expected, const dom::element& found) {
  return wrong_type(in_quotes(name), expected, found);
}

Error out_of_range(std::string_view name, const std::string& range, const dom::element& found) {
  return invalid(in_quotes(name) + " should be " + range + ", found " +
                 std::string(simdjson::minify(found)).substr(0, 60));
}

Result<double> read_number(const dom::element& value, std::string_view name, double least, double most,
                           const char* range) {
  double number = 0;
  if (value.get_double().get(number) != simdjson::SUCCESS) return wrong_member(name, "a number", value);
  if (!(number >= least && number <= most)) return out_of_range(name, range, value);
  return number;
}

Result<int64_t> read_integer(const dom::element& value, std::string_view name, int64_t least, int64_t most) {
  int64_t number = 0;
  const bool whole = value.is_int64() && value.get_int64().get(number) == simdjson::SUCCESS;
  if (whole && number >= least && number <= most) return number;
  const std::string upper = most == std::numeric_limits<int64_t>::max() ? "" : " and at most " + std::to_string(most);
  return out_of_range(name, "an integer of at least " + std::to_string(least) + upper, value);
}

Result<int32_t> read_token(const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(const int64_t token, read_integer(value, name, 0, std::numeric_limits<int32_t>::max()));
  return static_cast<int32_t>(token);
}

Result<std::vector<int32_t>> read_tokens(const dom::element& value, std::string_view name) {
  if (!value.is_array()) return wrong_member(name, "a list of tokens", value);
  std::vector<int32_t> tokens;
  for (const dom::element each : dom::array(value.get_array().value_unsafe())) {
    RIDGE_ASSIGN(const int32_t token, read_token(each, name));
    tokens.push_back(token);
  }
  return tokens;
}

Result<Json> json_of(const dom::element& value, std::string_view name);

Result<Json> json_of_object(const dom::object& object, std::string_view name) {
  Json json = Json::object();
  for (const dom::key_value_pair member : object) {
    if (json.size() == kMostMembers)
      return invalid("an object in " + in_quotes(name) + " has more than " + std::to_string(kMostMembers) + " members");
    RIDGE_ASSIGN(json[std::string(member.key)], json_of(member.value, name));
  }
  return json;
}

Result<Json> json_of(const dom::element& value, std::string_view name) {
  switch (value.type()) {
    case dom::element_type::NULL_VALUE: return Json();
    case dom::element_type::BOOL: return Json(value.get_bool().value_unsafe());
    case dom::element_type::INT64: return Json(value.get_int64().value_unsafe());
    case dom::element_type::UINT64: return Json(value.get_uint64().value_unsafe());
    case dom::element_type::DOUBLE: return Json(value.get_double().value_unsafe());
    case dom::element_type::STRING: return Json(std::string(value.get_string().value_unsafe()));
    case dom::element_type::OBJECT: return json_of_object(value.get_object().value_unsafe(), name);
    case dom::element_type::ARRAY: break;
    default: return invalid(in_quotes(name) + " has a number with more digits than 64 bits hold");
  }
  Json list = Json::array();
  for (const dom::element each : dom::array(value.get_array().value_unsafe())) {
    RIDGE_ASSIGN(Json item, json_of(each, name));
    list.push_back(std::move(item));
  }
  return list;
}

// What is read of a request before its parts are held against each other.
struct OpenAiReading {
  OpenAiRequest& request;
  OpenAiCall call;
  std::optional<int64_t> best_of = {};
  bool wants_logprobs = false;
  std::optional<int64_t> top_logprobs = {};
  bool has_stream_options = false;
  Json messages = {}, tools = {}, template_kwargs = {};  // null: not given
  std::string tool_choice = "auto";                      // none, auto, required, or function
  std::string chosen_tool = {};
  bool add_generation_prompt = true;
  std::optional<bool> add_special = {};
};

using Read = Status (*)(OpenAiReading& reading, const dom::element& value, std::string_view name);

// ---- what prompts and conversations are made of

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
  for (const dom::element each : list) {
    if (prompts.size() == kMostAnswers)
      return invalid(in_quotes(name) + " has more than " + std::to_string(kMostAnswers) + " prompts");
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

// Parts of type text, one behind the other, as vLLM gives them to templates that know only texts.
Result<std::string> text_of_parts(const dom::array& parts, const std::string& where) {
  std::string text;
  bool first = true;
  for (const dom::element part : parts) {
    std::string_view type, content;
    if (part["type"].get_string().get(type) != simdjson::SUCCESS)
      return invalid(where + ".content has a part without a 'type'");
    if (type != "text")
      return invalid(where + ".content has a part of type '" + std::string(type) +
                     "'; this server reads only those of type 'text'");
    if (part["text"].get_string().get(content) != simdjson::SUCCESS)
      return invalid(where + ".content has a part of type 'text' without a 'text'");
    if (!std::exchange(first, false)) text += '\n';
    text += content;
  }
  return text;
}

// Templates get the arguments of a call as an object; clients send them back as the text that they got.
void parse_arguments(Json& message) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array()) return;
  for (Json& call : *calls) {
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) continue;
    Json& function = call["function"];
    const auto arguments = function.find("arguments");
    if (arguments == function.end() || !arguments->is_string()) continue;
    if (Result<Json> parsed = parse_json(arguments->get_ref<const std::string&>(), "arguments"))
      *arguments = std::move(*parsed);
  }
}

Result<Json> read_message(const dom::element& value, std::string_view name, size_t index) {
  const std::string where = std::string(name) + "[" + std::to_string(index) + "]";
  if (!value.is_object()) return wrong_type(where, "an object with 'role' and 'content'", value);
  RIDGE_ASSIGN(Json message, json_of(value, name));
  if (!message.contains("role") || !message["role"].is_string()) return invalid(where + " has no 'role'");
  dom::element content;
  const bool given = value["content"].get(content) == simdjson::SUCCESS && !content.is_null();
  if (!given) {
    message["content"] = "";
  } else if (content.is_array()) {
    RIDGE_ASSIGN(message["content"], text_of_parts(content.get_array().value_unsafe(), where));
  } else if (!content.is_string()) {
    return wrong_type(where + ".content", "a text or a list of parts", content);
  }
  parse_arguments(message);
  return message;
}

Status read_messages(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  if (!value.is_array()) return wrong_member(name, "a list of messages", value);
  reading.messages = Json::array();
  for (const dom::element each : dom::array(value.get_array().value_unsafe())) {
    RIDGE_ASSIGN(Json message, read_message(each, name, reading.messages.size()));
    reading.messages.push_back(std::move(message));
  }
  if (reading.messages.empty()) return invalid("'messages' is empty; a conversation has at least one message");
  return {};
}

Status read_tools(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(Json tools, json_of(value, name));
  if (!tools.is_array()) return wrong_member(name, "a list of tools", value);
  for (const Json& tool : tools) {
    const bool is_function = tool.is_object() && tool.value("type", Json()) == "function" &&
                             tool.contains("function") && tool["function"].is_object() &&
                             tool["function"].contains("name") && tool["function"]["name"].is_string();
    if (!is_function)
      return invalid(R"('tools' should be a list of {"type":"function","function":{"name":…}}, found )" +
                     dump_json(tool).substr(0, 60));
  }
  if (!tools.empty()) reading.tools = std::move(tools);
  return {};
}

Status read_tool_choice(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    if (text != "none" && text != "auto" && text != "required")
      return out_of_range(name, "none, auto, required or a function", value);
    reading.tool_choice = text;
    return {};
  }
  if (value["function"]["name"].get_string().get(text) != simdjson::SUCCESS)
    return invalid(R"('tool_choice' should be none, auto, required or {"type":"function","function":{"name":…}})");
  reading.tool_choice = "function";
  reading.chosen_tool = text;
  return {};
}

// What a schema has that is not known here is the client's to change.
Result<text::JsonGrammar> form_of(const Json& schema) {
  Result<text::JsonGrammar> form = text::JsonGrammar::of(schema);
  if (!form) return invalid(form.error().message);
  return form;
}

Status read_response_format(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  std::string_view type;
  if (value["type"].get_string().get(type) != simdjson::SUCCESS)
    return invalid(in_quotes(name) + " should be an object with a 'type': text, json_object or json_schema");
  std::optional<text::JsonGrammar>& form = reading.request.wanted.form;
  if (type == "text") return {};
  if (type == "json_object") {
    RIDGE_ASSIGN(form, form_of(Json::object()));
    return {};
  }
  if (type != "json_schema")
    return invalid("'response_format' has the type '" + std::string(type) +
                   "'; this server knows text, json_object and json_schema");
  dom::element given;
  if (value["json_schema"]["schema"].get(given) != simdjson::SUCCESS || !given.is_object())
    return invalid(R"('response_format' of type json_schema should have {"json_schema":{"name":…,"schema":{…}}})");
  RIDGE_ASSIGN(const Json schema, json_of(given, name));
  RIDGE_ASSIGN(form, form_of(schema));
  return {};
}

// ---- how the answer is generated

Status read_stop(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  std::vector<std::string>& stop = reading.request.wanted.stop;
  const auto add = [&](const dom::element& each) -> Status {
    RIDGE_ASSIGN(const std::string_view text, read_string(each, in_quotes(name)));
    if (text.empty()) return invalid("'stop' has an empty text, which would end every answer at once");
    if (stop.size() == kMostStops) return invalid("'stop' has more than " + std::to_string(kMostStops) + " texts");
    stop.emplace_back(text);
    return {};
  };
  if (!value.is_array()) return add(value);
  for (const dom::element each : dom::array(value.get_array().value_unsafe())) RIDGE_TRY(add(each));
  return {};
}

Status read_logit_bias(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  if (!value.is_object()) return wrong_member(name, "an object of tokens and numbers", value);
  for (const dom::key_value_pair row : dom::object(value.get_object().value_unsafe())) {
    int32_t token = 0;
    const auto [end, failure] = std::from_chars(row.key.data(), row.key.data() + row.key.size(), token);
    if (failure != std::errc() || end != row.key.data() + row.key.size() || token < 0)
      return invalid("'logit_bias' has the key " + in_quotes(row.key.substr(0, 60)) + ", which is no token's number");
    RIDGE_ASSIGN(const double bias, read_number(row.value, name, -100, 100, "numbers from -100 to 100"));
    reading.request.wanted.sampling.logit_bias.emplace_back(token, static_cast<float>(bias));
  }
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

// Of a member that is one switch.
template <bool OpenAiRequest::*Member>
Status read_switch(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(reading.request.*Member, read_bool(value, in_quotes(name)));
  return {};
}
template <bool serve::TextRequest::*Member>
Status read_wanted_switch(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(reading.request.wanted.*Member, read_bool(value, in_quotes(name)));
  return {};
}
template <bool OpenAiReading::*Member>
Status read_own_switch(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(reading.*Member, read_bool(value, in_quotes(name)));
  return {};
}
template <std::string OpenAiRequest::*Member>
Status read_text(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(const std::string_view text, read_string(value, in_quotes(name)));
  reading.request.*Member = text;
  return {};
}
template <double generate::Sampling::*Member, int Least, int Most>
Status read_sampling(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  static const std::string range = "a number from " + std::to_string(Least) + " to " + std::to_string(Most);
  RIDGE_ASSIGN(reading.request.wanted.sampling.*Member, read_number(value, name, Least, Most, range.c_str()));
  return {};
}
// Of a member that may only say what is so anyway.
template <bool Only>
Status read_only(OpenAiReading&, const dom::element& value, std::string_view name) {
  if (value.is_bool() && value.get_bool().value_unsafe() == Only) return {};
  return invalid(in_quotes(name) + " is not supported; leave it out");
}

Status read_most_tokens(OpenAiReading& reading, const dom::element& value, std::string_view name) {
  RIDGE_ASSIGN(reading.request.wanted.most_tokens, read_integer(value, name, 1, std::numeric_limits<int64_t>::max()));
  return {};
}

Status read_refused(OpenAiReading&, const dom::element&, std::string_view name) {
  return invalid(in_quotes(name) + " is not supported; leave it out");
}

using Calls = uint8_t;
constexpr Calls of(OpenAiCall call) { return static_cast<Calls>(1U << static_cast<unsigned>(call)); }
constexpr Calls kText = of(OpenAiCall::kCompletion), kConversation = of(OpenAiCall::kChat),
                kToTokens = of(OpenAiCall::kTokenize), kFromTokens = of(OpenAiCall::kDetokenize);
constexpr Calls kBoth = kText | kConversation;

struct Member {
  std::string_view name;
  Calls calls;
  Read read;  // of a value that is not null
};

// https://platform.openai.com/docs/api-reference, and what vLLM 0.32 has besides.
constexpr Member kMembers[] = {
    {"model", kBoth | kToTokens | kFromTokens, read_text<&OpenAiRequest::model>},
    {"prompt", kText | kToTokens, read_prompt},
    {"tokens", kFromTokens, read_tokens_to_show},
    {"messages", kConversation | kToTokens, read_messages},
    {"tools", kConversation | kToTokens, read_tools},
    {"tool_choice", kConversation, read_tool_choice},
    {"response_format", kBoth, read_response_format},
    {"max_tokens", kBoth, read_most_tokens},
    {"max_completion_tokens", kConversation, read_most_tokens},
    {"n", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(const int64_t n, read_integer(value, name, 1, kMostChoices));
       reading.request.wanted.choices = static_cast<int>(n);
       return {};
     }},
    {"best_of", kText,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(reading.best_of, read_integer(value, name, 1, kMostChoices));
       return {};
     }},
    {"echo", kText, read_switch<&OpenAiRequest::echo>},
    {"suffix", kText,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       return value.is_string() && value.get_string().value_unsafe().empty() ? Status()
                                                                             : read_refused(reading, value, name);
     }},
    {"logprobs", kText,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(const int64_t most, read_integer(value, name, 0, kMostCompletionLogprobs));
       reading.request.wanted.logprobs = static_cast<int>(most);
       return {};
     }},
    {"logprobs", kConversation, read_own_switch<&OpenAiReading::wants_logprobs>},
    {"top_logprobs", kConversation,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(reading.top_logprobs, read_integer(value, name, 0, kMostChatLogprobs));
       return {};
     }},
    {"stop", kBoth, read_stop},
    {"stop_token_ids", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(reading.request.wanted.stop_tokens, read_tokens(value, name));
       return {};
     }},
    {"include_stop_str_in_output", kBoth, read_wanted_switch<&serve::TextRequest::include_stop>},
    {"ignore_eos", kBoth, read_wanted_switch<&serve::TextRequest::ignore_eos>},
    {"min_tokens", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(reading.request.wanted.least_tokens,
                    read_integer(value, name, 0, std::numeric_limits<int64_t>::max()));
       return {};
     }},
    {"skip_special_tokens", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(const bool skip, read_bool(value, in_quotes(name)));
       reading.request.wanted.with_special = !skip;
       return {};
     }},
    {"seed", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(const int64_t seed, read_integer(value, name, std::numeric_limits<int64_t>::min(),
                                                     std::numeric_limits<int64_t>::max()));
       reading.request.wanted.sampling.seed = static_cast<uint64_t>(seed);
       reading.request.wanted.has_seed = true;
       return {};
     }},
    {"temperature", kBoth, read_sampling<&generate::Sampling::temperature, 0, 100>},
    {"top_p", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(reading.request.wanted.sampling.top_p,
                    read_number(value, name, std::numeric_limits<double>::min(), 1, "a number above 0 and at most 1"));
       return {};
     }},
    {"top_k", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(const int64_t most, read_integer(value, name, -1, std::numeric_limits<int32_t>::max()));
       reading.request.wanted.sampling.top_k = static_cast<int>(std::max<int64_t>(most, 0));
       return {};
     }},
    {"min_p", kBoth, read_sampling<&generate::Sampling::min_p, 0, 1>},
    {"presence_penalty", kBoth, read_sampling<&generate::Sampling::presence_penalty, -2, 2>},
    {"frequency_penalty", kBoth, read_sampling<&generate::Sampling::frequency_penalty, -2, 2>},
    {"repetition_penalty", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(reading.request.wanted.sampling.repetition_penalty,
                    read_number(value, name, std::numeric_limits<float>::min(), 100, "a number above 0, at most 100"));
       return {};
     }},
    {"logit_bias", kBoth, read_logit_bias},
    {"stream", kBoth, read_switch<&OpenAiRequest::stream>},
    {"stream_options", kBoth, read_stream_options},
    {"user", kBoth, read_text<&OpenAiRequest::user>},
    {"add_special_tokens", kBoth | kToTokens,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(reading.add_special, read_bool(value, in_quotes(name)));
       return {};
     }},
    {"add_generation_prompt", kConversation | kToTokens, read_own_switch<&OpenAiReading::add_generation_prompt>},
    {"continue_final_message", kConversation | kToTokens, read_switch<&OpenAiRequest::continue_final>},
    {"chat_template_kwargs", kConversation | kToTokens,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       if (!value.is_object()) return wrong_member(name, "an object", value);
       RIDGE_ASSIGN(reading.template_kwargs, json_of(value, name));
       return {};
     }},
    {"return_token_ids", kBoth, read_switch<&OpenAiRequest::token_ids>},
    {"return_token_strs", kToTokens, read_switch<&OpenAiRequest::token_texts>},
    {"first_token_within_ms", kBoth,
     [](OpenAiReading& reading, const dom::element& value, std::string_view name) -> Status {
       RIDGE_ASSIGN(const double milliseconds, read_number(value, name, 0, 1e12, "a number of milliseconds"));
       reading.request.wanted.first_token_within = from_seconds(milliseconds / 1e3);
       return {};
     }},
    // What would make another answer, and is not there.
    {"use_beam_search", kBoth, read_only<false>},
    {"chat_template", kConversation | kToTokens, read_refused},
    {"functions", kConversation, read_refused},
    {"function_call", kConversation, read_refused},
    {"audio", kConversation, read_refused},
    {"prompt_logprobs", kBoth, read_refused},
    {"prompt_embeds", kBoth, read_refused},
    {"truncate_prompt_tokens", kBoth, read_refused},
    {"allowed_token_ids", kBoth, read_refused},
    {"bad_words", kBoth, read_refused},
    {"logits_processors", kBoth, read_refused},
    {"structured_outputs", kBoth, read_refused},
    {"guided_json", kBoth, read_refused},
    {"guided_regex", kBoth, read_refused},
    {"guided_choice", kBoth, read_refused},
    {"guided_grammar", kBoth, read_refused},
};

const Member* member_of(OpenAiCall call, std::string_view name) {
  const auto* found = std::find_if(std::begin(kMembers), std::end(kMembers),
                                   [&](const Member& row) { return row.name == name && (row.calls & of(call)) != 0; });
  return found == std::end(kMembers) ? nullptr : found;
}

Status read_members(OpenAiReading& reading, const dom::object& object, std::string& about) {
  std::vector<const Member*> seen;
  for (const dom::key_value_pair pair : object) {
    const Member* member = member_of(reading.call, pair.key);
    if (member == nullptr) continue;
    about = pair.key;
    if (std::find(seen.begin(), seen.end(), member) != seen.end())
      return invalid("member " + in_quotes(pair.key) + " is given twice");
    seen.push_back(member);
    if (!pair.value.is_null()) RIDGE_TRY(member->read(reading, pair.value, member->name));
  }
  about.clear();
  return {};
}

// Only the function that was chosen is offered; the model answers as its template tells it.
Status choose_tools(OpenAiReading& reading, std::string& about) {
  if (reading.tools.is_null()) {
    if (reading.tool_choice == "none" || reading.tool_choice == "auto") return {};
    about = "tool_choice";
    return invalid("'tool_choice' names tools, and the request has none");
  }
  if (reading.tool_choice == "none") {
    reading.tools = Json();
    return {};
  }
  reading.request.has_tools = true;
  if (reading.tool_choice != "function") return {};
  Json chosen = Json::array();
  for (Json& tool : reading.tools)
    if (tool["function"]["name"] == reading.chosen_tool) chosen.push_back(std::move(tool));
  reading.tools = std::move(chosen);
  if (!reading.tools.empty()) return {};
  about = "tool_choice";
  return invalid("'tool_choice' names the function " + in_quotes(reading.chosen_tool) + ", which 'tools' has not");
}

Status finish_conversation(OpenAiReading& reading, std::string& about) {
  OpenAiRequest& request = reading.request;
  RIDGE_TRY(choose_tools(reading, about));
  if (request.continue_final && reading.add_generation_prompt) {
    about = "continue_final_message";
    return invalid("'continue_final_message' goes with 'add_generation_prompt': false");
  }
  Json& variables = request.variables;
  variables = reading.template_kwargs.is_null() ? Json(Json::object()) : std::move(reading.template_kwargs);
  variables["messages"] = std::move(reading.messages);
  if (!reading.tools.is_null()) variables["tools"] = std::move(reading.tools);
  variables["add_generation_prompt"] = reading.add_generation_prompt;
  return {};
}

Status finish_prompt(OpenAiReading& reading, std::string& about) {
  OpenAiRequest& request = reading.request;
  const bool may_converse = reading.call == OpenAiCall::kChat || reading.call == OpenAiCall::kTokenize;
  if (may_converse && !reading.messages.is_null()) {
    if (request.prompts.empty()) return finish_conversation(reading, about);
    return invalid("the request has 'messages' and 'prompt'; give one of them");
  }
  if (!request.prompts.empty()) return {};
  about = reading.call == OpenAiCall::kChat         ? "messages"
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
  if (static_cast<int64_t>(request.prompts.size()) * wanted.choices > kMostAnswers) {
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
  if (wanted.most_tokens && wanted.least_tokens > *wanted.most_tokens) {
    about = "min_tokens";
    return invalid("'min_tokens' is more than the request's most tokens");
  }
  wanted.prompt_logprobs = request.echo && wanted.logprobs >= 0;
  return {};
}

}  // namespace

Result<OpenAiRequest> read_openai_request(const Body& body, OpenAiCall call, std::string& about) {
  about.clear();
  JsonParser parser;
  RIDGE_ASSIGN(const dom::object object, parser.parse(body.text()));
  OpenAiRequest request;
  if (call == OpenAiCall::kCompletion) request.wanted.most_tokens = kUsualTokens;
  OpenAiReading reading{.request = request, .call = call};
  RIDGE_TRY(read_members(reading, object, about));
  RIDGE_TRY(finish_prompt(reading, about));
  RIDGE_TRY(check_together(reading, about));
  request.add_special = reading.add_special.value_or(request.variables.is_null());  // templates write theirs
  return request;
}

}  // namespace ridge::front::http
