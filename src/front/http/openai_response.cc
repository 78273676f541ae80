#include "front/http/openai_response.h"

#include <algorithm>
#include <cmath>

#include "front/http/base64.h"
#include "front/http/json_text.h"

namespace ridge::front::http {
namespace {

constexpr float kLeastLogprob = -9999;  // JSON has no −∞; vLLM's number for it

void append_logprob(std::string& text, float value) {
  append_json_number(text, std::isfinite(value) ? std::max(value, kLeastLogprob) : kLeastLogprob);
}

void append_list(std::string& text, size_t count, auto append_one) {
  text += '[';
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    append_one(i);
  }
  text += ']';
}

void append_ids(std::string& text, std::span<const int32_t> ids) {
  append_list(text, ids.size(), [&](size_t i) { append_json_integer(text, int64_t{ids[i]}); });
}

// The most likely ones, as many as were asked for.
std::span<const serve::TextToken> alternatives_of(const OpenAiForm& form, const serve::TextToken& token) {
  const size_t most = static_cast<size_t>(std::max(0, form.logprobs));
  return std::span(token.alternatives).first(std::min(token.alternatives.size(), most));
}

// Texts of tokens may be equal where their bytes are parts of characters; the likelier one counts. The drawn token is always there.
void append_top(std::string& text, const OpenAiForm& form, const serve::TextToken& token) {
  std::vector<const serve::TextToken*> shown;
  const auto add = [&](const serve::TextToken& each) {
    const bool there =
        std::any_of(shown.begin(), shown.end(), [&](const auto* other) { return other->text == each.text; });
    if (!there) shown.push_back(&each);
  };
  for (const serve::TextToken& each : alternatives_of(form, token)) add(each);
  add(token);
  text += '{';
  for (size_t i = 0; i < shown.size(); ++i) {
    if (i > 0) text += ',';
    append_json_string(text, shown[i]->text);
    text += ':';
    append_logprob(text, shown[i]->logprob);
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
  text += R"({"tokens":)";
  append_list(text, count, [&](size_t i) { append_json_string(text, token(i).text); });
  text += R"(,"token_logprobs":)";
  append_list(text, count, [&](size_t i) {
    has_chance(i) ? append_logprob(text, token(i).logprob) : static_cast<void>(text += "null");
  });
  text += R"(,"top_logprobs":)";
  append_list(text, count,
              [&](size_t i) { has_chance(i) ? append_top(text, form, token(i)) : static_cast<void>(text += "null"); });
  text += R"(,"text_offset":)";
  size_t offset = part.offset;
  append_list(text, count, [&](size_t i) {
    append_json_integer(text, uint64_t{offset});
    offset += characters_of(token(i).text);
  });
  text += '}';
}

void append_chat_token(std::string& text, const serve::TextToken& token) {
  text += R"({"token":)";
  append_json_string(text, token.text);
  text += R"(,"logprob":)";
  append_logprob(text, token.logprob);
  text += R"(,"bytes":)";
  append_list(text, token.text.size(),
              [&](size_t i) { append_json_integer(text, uint64_t{static_cast<unsigned char>(token.text[i])}); });
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
    if (with_index) {
      text += R"("index":)";
      append_json_integer(text, int64_t{calls[i].index});
      text += ',';
    }
    text += R"("id":)";
    append_json_string(text, calls[i].id);
    text += R"(,"type":"function","function":{"name":)";
    append_json_string(text, calls[i].call.name);
    text += R"(,"arguments":)";
    append_json_string(text, calls[i].call.arguments);
    text += "}}";
  });
}

// By vLLM's name, and by the one that it had before and that others have.
void append_thought(std::string& text, const AnswerPart& part) {
  for (const std::string_view name : {"reasoning", "reasoning_content"}) {
    if (!text.ends_with('{')) text += ',';
    text.append("\"").append(name).append("\":");
    append_json_string(text, part.thought);
  }
}

void append_message(std::string& text, const AnswerPart& part) {
  text += R"("message":{"role":"assistant","content":)";
  if (part.text.empty() && (!part.calls.empty() || !part.thought.empty()))
    text += "null";
  else
    append_json_string(text, part.text);
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
    text += R"("content":)";
    append_json_string(text, part.text);
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

void append_finish(std::string& text, const AnswerPart& part) {
  text += R"(,"finish_reason":)";
  if (part.finish.empty()) {
    text += "null";
    return;
  }
  append_json_string(text, part.finish);
  text += R"(,"stop_reason":)";
  if (part.stop_token)
    append_json_integer(text, int64_t{*part.stop_token});
  else
    part.stop_reason.empty() ? static_cast<void>(text += "null") : append_json_string(text, part.stop_reason);
}

void append_choice(std::string& text, const OpenAiForm& form, const AnswerPart& part, bool whole) {
  text += R"({"index":)";
  append_json_integer(text, int64_t{part.choice});
  text += ',';
  if (form.call == OpenAiCall::kCompletion) {
    text += R"("text":)";
    append_json_string(text, part.prompt != nullptr ? part.prompt->echo + part.text : part.text);
  } else if (whole) {
    append_message(text, part);
  } else {
    append_delta(text, part);
  }
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
  const bool chat = form.call == OpenAiCall::kChat;
  text += R"({"id":)";
  append_json_string(text, form.id);
  text += R"(,"object":")";
  text += !chat ? "text_completion" : whole ? "chat.completion" : "chat.completion.chunk";
  text += R"(","created":)";
  append_json_integer(text, form.created);
  text += R"(,"model":)";
  append_json_string(text, form.model);
}

void append_usage(std::string& text, const serve::TextUsage& usage) {
  text += R"({"prompt_tokens":)";
  append_json_integer(text, usage.prompt_tokens);
  text += R"(,"completion_tokens":)";
  append_json_integer(text, usage.completion_tokens);
  text += R"(,"total_tokens":)";
  append_json_integer(text, usage.prompt_tokens + usage.completion_tokens);
  text += R"(,"prompt_tokens_details":{"cached_tokens":)";
  append_json_integer(text, usage.cached_tokens);
  text += '}';
  if (usage.bound_seconds > 0) {
    text += R"(,"ridge":{"limit_share":)";
    append_json_number(text, std::round(1e4 * usage.limit_share()) / 1e4);
    text += '}';
  }
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
    append_usage(text, *usage);
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

std::string_view error_code(const Response& response) {
  if (response.status == 401) return "invalid_api_key";
  if (response.status == 404 && response.error_about == "model") return "model_not_found";
  if (response.status == 413) return "request_too_large";
  return {};
}

void append_text_or_null(std::string& text, std::string_view value) {
  value.empty() ? static_cast<void>(text += "null") : append_json_string(text, value);
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
  append_usage(text, usage);
  text += '}';
  return text;
}

std::string event_of(const OpenAiForm& form, const AnswerPart& part, const serve::TextUsage* usage) {
  std::string text, choice;
  if (form.call == OpenAiCall::kChat && part.begins) {
    choice = R"({"index":)";
    append_json_integer(choice, int64_t{part.choice});
    choice += R"(,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null})";
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
                              int64_t tokens) {
  std::string text = R"({"object":"list","data":)";
  append_list(text, vectors.size(), [&](size_t i) {
    const std::vector<float>& vector = vectors[i];
    text += R"({"object":"embedding","index":)";
    append_json_integer(text, uint64_t{i});
    text += R"(,"embedding":)";
    if (base64)
      text.append("\"")
          .append(base64_encoded({reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)}))
          .append("\"");
    else
      append_list(text, vector.size(), [&](size_t k) { append_json_number(text, vector[k]); });
    text += '}';
  });
  text += R"(,"model":)";
  append_json_string(text, model);
  text += R"(,"usage":{"prompt_tokens":)";
  append_json_integer(text, tokens);
  text += R"(,"total_tokens":)";
  append_json_integer(text, tokens);
  text += "}}";
  return text;
}

std::string openai_error(const Response& response) {
  std::string text = R"({"error":{"message":)";
  append_json_string(text, response.error);
  text.append(R"(,"type":")").append(error_type(response.status)).append(R"(","param":)");
  append_text_or_null(text, response.error_about);
  text += R"(,"code":)";
  append_text_or_null(text, error_code(response));
  text += "}}";
  return text;
}

std::string error_event(const Response& response) { return "data: " + openai_error(response) + "\n\n"; }

}  // namespace ridge::front::http
