#include "front/openai/response.h"

#include <algorithm>
#include <cmath>
#include <concepts>

#include "front/base64.h"
#include "front/json_text.h"

namespace ridge::front::openai {
namespace {

constexpr float kLeastLogprob = -9999;  // JSON has no −∞; vLLM's number for it

// Literals as they are, texts and numbers as JSON, and what a function appends.
template <size_t N>
void put_one(std::string& text, const char (&literal)[N]) {
  text += literal;
}
void put_one(std::string& text, std::string_view value) { append_json_string(text, value); }
void put_one(std::string& text, std::integral auto value) { append_json_integer(text, static_cast<int64_t>(value)); }
void put_one(std::string& text, std::floating_point auto value) { append_json_number(text, value); }
void put_one(std::string&, std::invocable auto&& append) { append(); }
void put(std::string& text, auto&&... parts) { (put_one(text, parts), ...); }

float logprob_of(float value) { return std::isfinite(value) ? std::max(value, kLeastLogprob) : kLeastLogprob; }

void append_list(std::string& text, size_t count, auto append_one) {
  text += '[';
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    append_one(i);
  }
  text += ']';
}

void append_ids(std::string& text, std::span<const int32_t> ids) {
  append_list(text, ids.size(), [&](size_t i) { put(text, ids[i]); });
}

// The most likely ones, in the requested number.
std::span<const serve::TextToken> alternatives_of(const OpenAiForm& form, const serve::TextToken& token) {
  const size_t most = static_cast<size_t>(std::max(0, form.logprobs));
  return std::span(token.alternatives).first(std::min(token.alternatives.size(), most));
}

// Texts of tokens may be equal where their bytes are parts of characters; the likelier one counts. The drawn token is
// always there.
void append_top(std::string& text, const OpenAiForm& form, const serve::TextToken& token) {
  std::vector<const serve::TextToken*> shown;
  const auto add = [&](const serve::TextToken& each) {
    const bool there =
        std::any_of(shown.begin(), shown.end(), [&](const auto* other) { return other->text == each.text; });
    if (!there) shown.push_back(&each);
  };
  for (const serve::TextToken& each : alternatives_of(form, token)) add(each);
  add(token);
  for (size_t i = 0; i < shown.size(); ++i) {
    text += i == 0 ? '{' : ',';
    put(text, shown[i]->text, ":", logprob_of(shown[i]->logprob));
  }
  text += '}';
}

void append_completion_logprobs(std::string& text, const OpenAiForm& form, const AnswerPart& part) {
  const std::span prompt = part.prompt_tokens();
  const size_t count = prompt.size() + part.tokens.size();
  const auto token = [&](size_t i) -> const serve::TextToken& {
    return i < prompt.size() ? prompt[i] : part.tokens[i - prompt.size()];
  };
  const auto has_chance = [&](size_t i) { return i > 0 || prompt.empty(); };
  const auto list = [&](auto append_one) { return [&, append_one] { append_list(text, count, append_one); }; };
  const auto of_chances = [&](auto append_one) {
    return list([&, append_one](size_t i) { has_chance(i) ? append_one(token(i)) : put(text, "null"); });
  };
  size_t offset = part.offset;
  const auto next_offset = [&](size_t i) {
    put(text, offset);
    offset += characters_of(token(i).text);
  };
  put(text, R"({"tokens":)", list([&](size_t i) { put(text, token(i).text); }), R"(,"token_logprobs":)",
      of_chances([&](const serve::TextToken& each) { put(text, logprob_of(each.logprob)); }), R"(,"top_logprobs":)",
      of_chances([&](const serve::TextToken& each) { append_top(text, form, each); }), R"(,"text_offset":)",
      list(next_offset), "}");
}

void append_chat_token(std::string& text, const serve::TextToken& token) {
  put(text, R"({"token":)", token.text, R"(,"logprob":)", logprob_of(token.logprob), R"(,"bytes":)");
  append_list(text, token.text.size(), [&](size_t i) { put(text, static_cast<unsigned char>(token.text[i])); });
}

void append_chat_logprobs(std::string& text, const OpenAiForm& form, const AnswerPart& part) {
  text += R"({"content":)";
  append_list(text, part.tokens.size(), [&](size_t i) {
    append_chat_token(text, part.tokens[i]);
    text += R"(,"top_logprobs":)";
    const std::span<const serve::TextToken> alternatives = alternatives_of(form, part.tokens[i]);
    append_list(text, alternatives.size(), [&](size_t j) {
      append_chat_token(text, alternatives[j]);
      text += '}';
    });
    text += '}';
  });
  text += '}';
}

void append_calls(std::string& text, std::span<const NamedCall> calls, bool with_index) {
  append_list(text, calls.size(), [&](size_t i) {
    text += '{';
    if (with_index) put(text, R"("index":)", calls[i].index, ",");
    put(text, R"("id":)", calls[i].id, R"(,"type":"function","function":{"name":)", calls[i].call.name,
        R"(,"arguments":)", calls[i].call.arguments, "}}");
  });
}

// By vLLM's name, and by the one that it had before and that others have.
void append_thought(std::string& text, const AnswerPart& part) {
  for (const std::string_view name : {"reasoning", "reasoning_content"}) {
    if (!text.ends_with('{')) text += ',';
    put(text, name, ":", part.thought);
  }
}

void append_message(std::string& text, const AnswerPart& part) {
  text += R"("message":{"role":"assistant","content":)";
  const bool none = part.text.empty() && (!part.calls.empty() || !part.thought.empty());
  none ? put(text, "null") : put(text, part.text);
  if (!part.thought.empty()) append_thought(text, part);
  if (!part.calls.empty()) {
    text += R"(,"tool_calls":)";
    append_calls(text, part.calls, false);
  }
  text += '}';
}

void append_delta(std::string& text, const AnswerPart& part) {
  text += R"("delta":{)";
  if (!part.thought.empty()) append_thought(text, part);
  if (!part.text.empty() || (part.thought.empty() && part.calls.empty() && part.finish.empty())) {
    if (!text.ends_with('{')) text += ',';
    put(text, R"("content":)", part.text);
  }
  if (!part.calls.empty()) {
    if (!text.ends_with('{')) text += ',';
    text += R"("tool_calls":)";
    append_calls(text, part.calls, true);
  }
  text += '}';
}

void append_logprobs(std::string& text, const OpenAiForm& form, const AnswerPart& part) {
  text += R"(,"logprobs":)";
  if (form.logprobs < 0 || (part.tokens.empty() && part.prompt_tokens().empty()))
    text += "null";
  else if (form.call == OpenAiCall::kChat)
    append_chat_logprobs(text, form, part);
  else
    append_completion_logprobs(text, form, part);
}

void append_text_or_null(std::string& text, std::string_view value) {
  value.empty() ? put(text, "null") : put(text, value);
}

void append_finish(std::string& text, const AnswerPart& part) {
  text += R"(,"finish_reason":)";
  append_text_or_null(text, part.finish);
  if (part.finish.empty()) return;
  text += R"(,"stop_reason":)";
  part.stop_token ? put(text, *part.stop_token) : append_text_or_null(text, part.stop_reason);
}

void append_choice(std::string& text, const OpenAiForm& form, const AnswerPart& part, bool whole) {
  put(text, R"({"index":)", part.choice, ",");
  if (form.call == OpenAiCall::kCompletion)
    put(text, R"("text":)", part.prompt != nullptr ? part.prompt->echo + part.text : part.text);
  else
    whole ? append_message(text, part) : append_delta(text, part);
  append_logprobs(text, form, part);
  append_finish(text, part);
  if (form.token_ids) {
    text += R"(,"token_ids":)";
    append_ids(text, part.token_ids);
    if (form.call == OpenAiCall::kCompletion && part.prompt != nullptr) {
      text += R"(,"prompt_token_ids":)";
      append_ids(text, part.prompt->ids);
    }
  }
  text += '}';
}

void append_head(std::string& text, const OpenAiForm& form, bool whole) {
  const std::string_view object = form.call != OpenAiCall::kChat ? "text_completion"
                                  : whole                        ? "chat.completion"
                                                                 : "chat.completion.chunk";
  put(text, R"({"id":)", form.id, R"(,"object":)", object, R"(,"created":)", form.created, R"(,"model":)", form.model);
}

// What OpenAI's usage has no place for, where there is something to say.
void append_ridge_usage(std::string& text, double limit_share, std::span<const std::string> unknown) {
  if (limit_share <= 0 && unknown.empty()) return;
  text += R"(,"ridge":{)";
  if (limit_share > 0) put(text, R"("limit_share":)", std::round(1e4 * limit_share) / 1e4);
  if (!unknown.empty()) {
    text += limit_share > 0 ? R"(,"unknown":)" : R"("unknown":)";
    append_list(text, unknown.size(), [&](size_t i) { put(text, unknown[i]); });
  }
  text += '}';
}

void append_usage(std::string& text, const OpenAiForm& form, const serve::TextUsage& usage) {
  put(text, R"({"prompt_tokens":)", usage.prompt_tokens, R"(,"completion_tokens":)", usage.completion_tokens,
      R"(,"total_tokens":)", usage.prompt_tokens + usage.completion_tokens,
      R"(,"prompt_tokens_details":{"cached_tokens":)", usage.cached_tokens, "}");
  append_ridge_usage(text, usage.limit_share(), form.unknown);
  text += '}';
}

void append_prompt_ids(std::string& text, const OpenAiForm& form, const AnswerPart& part) {
  if (!form.token_ids || form.call != OpenAiCall::kChat || part.prompt == nullptr) return;
  text += R"(,"prompt_token_ids":)";
  append_ids(text, part.prompt->ids);
}

// `begins`: the part whose choice's first event it is; null: none.
void append_event(std::string& text, const OpenAiForm& form, std::string_view choice, const AnswerPart* begins,
                  const serve::TextUsage* usage) {
  text += "data: ";
  append_head(text, form, false);
  if (begins != nullptr) append_prompt_ids(text, form, *begins);
  text.append(R"(,"choices":[)").append(choice).append("]");
  if (usage != nullptr) {
    text += R"(,"usage":)";
    append_usage(text, form, *usage);
  } else if (form.with_usage) {
    text += R"(,"usage":null)";
  }
  text += "}\n\n";
}

std::string_view error_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 503: return "service_unavailable_error";
    default: return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

std::string_view error_code(const http::Response& response) {
  if (response.status == 401) return "invalid_api_key";
  if (response.status == 404 && response.error_about == "model") return "model_not_found";
  if (response.status == 413) return "request_too_large";
  return {};
}

}  // namespace

std::string_view finish_name(generate::Finish finish) {
  switch (finish) {
    case generate::Finish::kNone: return {};
    case generate::Finish::kStop: return "stop";
    case generate::Finish::kLength: return "length";
    case generate::Finish::kCancelled:
    case generate::Finish::kDeadline:
    case generate::Finish::kFailed: break;
  }
  return "abort";
}

size_t characters_of(std::string_view bytes) {
  return static_cast<size_t>(
      std::count_if(bytes.begin(), bytes.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string whole_answer(const OpenAiForm& form, std::span<const AnswerPart> choices, const serve::TextUsage& usage) {
  std::string text;
  append_head(text, form, true);
  text += R"(,"choices":)";
  append_list(text, choices.size(), [&](size_t i) { append_choice(text, form, choices[i], true); });
  if (!choices.empty()) append_prompt_ids(text, form, choices.front());
  text += R"(,"usage":)";
  append_usage(text, form, usage);
  text += '}';
  return text;
}

std::string event_of(const OpenAiForm& form, const AnswerPart& part, const serve::TextUsage* usage) {
  std::string text, choice;
  if (form.call == OpenAiCall::kChat && part.begins) {
    put(choice, R"({"index":)", part.choice,
        R"(,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null})");
    append_event(text, form, choice, &part, usage);
    choice.clear();
  }
  append_choice(choice, form, part, false);
  append_event(text, form, choice, nullptr, usage);
  return text;
}

std::string usage_event(const OpenAiForm& form, const serve::TextUsage& usage) {
  std::string text;
  append_event(text, form, "", nullptr, &usage);
  return text;
}

std::string embeddings_answer(std::string_view model, std::span<const std::vector<float>> vectors, bool base64,
                              int64_t tokens, std::span<const std::string> unknown) {
  std::string text = R"({"object":"list","data":)";
  append_list(text, vectors.size(), [&](size_t i) {
    const std::vector<float>& vector = vectors[i];
    put(text, R"({"object":"embedding","index":)", i, R"(,"embedding":)");
    if (base64)
      text.append("\"")
          .append(base64_encoded({reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)}))
          .append("\"");
    else
      append_list(text, vector.size(), [&](size_t k) { put(text, vector[k]); });
    text += '}';
  });
  put(text, R"(,"model":)", model, R"(,"usage":{"prompt_tokens":)", tokens, R"(,"total_tokens":)", tokens);
  append_ridge_usage(text, 0, unknown);
  text += "}}";
  return text;
}

std::string openai_error(const http::Response& response) {
  std::string text;
  put(text, R"({"error":{"message":)", response.error, R"(,"type":)", error_type(response.status), R"(,"param":)");
  append_text_or_null(text, response.error_about);
  text += R"(,"code":)";
  append_text_or_null(text, error_code(response));
  text += "}}";
  return text;
}

std::string error_event(const http::Response& response) { return "data: " + openai_error(response) + "\n\n"; }

}  // namespace ridge::front::openai
