// The answers of OpenAI's API as text: whole ones, and the events of streams
// (https://html.spec.whatwg.org/multipage/server-sent-events.html). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "front/http/message.h"
#include "front/openai/request.h"
#include "front/openai/tool_calls.h"
#include "serve/text_model.h"

namespace ridge::front::openai {

// Parts that all events of an answer share.
struct OpenAiForm {
  OpenAiCall call = OpenAiCall::kCompletion;
  std::string id;
  std::string model;
  int64_t created = 0;  // [s since 1970]
  int logprobs = -1;    // alternatives per token; −1: none at all
  bool token_ids = false;
  bool with_usage = false;  // the stream ends with the usage, and its other events say that they have none
  std::vector<std::string> unknown = {};  // members of the request that have no effect
};

struct NamedCall {
  int index = 0;
  std::string id;
  ToolCall call;
};

// Beginning of all choices of a prompt; kept once.
struct AnswerPrompt {
  generate::SharedList<int32_t> ids = {};
  std::string echo = {};                      // its text, where it stands before the answers
  std::vector<serve::TextToken> tokens = {};  // with echo and logprobs; the first has no chance
};

// Part of one choice: an event's addition, or all.
struct AnswerPart {
  int choice = 0;
  bool begins = false;                   // nothing of this choice has been sent
  const AnswerPrompt* prompt = nullptr;  // of a part that begins; null: nothing of it is shown
  std::string thought = {};              // before the text
  std::string text = {};
  std::vector<NamedCall> calls = {};
  std::vector<serve::TextToken> tokens = {};  // with logprobs
  size_t offset = 0;                          // [characters] of the choice before its tokens
  std::vector<int32_t> token_ids = {};
  std::string_view finish = {};  // "stop", …; empty: more comes
  std::string stop_reason = {};  // the text that ended it
  std::optional<int32_t> stop_token = {};

  std::span<const serve::TextToken> prompt_tokens() const {
    return prompt != nullptr ? std::span(prompt->tokens) : std::span<const serve::TextToken>();
  }
};

std::string_view finish_name(generate::Finish finish);

// Characters of a token's bytes, counted by where they begin.
size_t characters_of(std::string_view bytes);

std::string whole_answer(const OpenAiForm& form, std::span<const AnswerPart> choices, const serve::TextUsage& usage);

// A chat's first event of a choice has the role; its content comes in an event of its own. `usage` may be null.
std::string event_of(const OpenAiForm& form, const AnswerPart& part, const serve::TextUsage* usage);
std::string usage_event(const OpenAiForm& form, const serve::TextUsage& usage);
constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";
constexpr std::string_view kNoEvent = ":\n\n";  // a comment

// One embedding of each text; `tokens`: of all texts together; `unknown`: members of the request that have no effect.
std::string embeddings_answer(std::string_view model, std::span<const std::vector<float>> vectors, bool base64,
                              int64_t tokens, std::span<const std::string> unknown);

// {"error":{"message","type","param","code"}} of a response that is an error.
std::string openai_error(const http::Response& response);
std::string error_event(const http::Response& response);

}  // namespace ridge::front::openai
