// Requests of OpenAI's API, /v1/completions, /v1/chat/completions and /v1/embeddings, and of vLLM's /tokenize and
// /detokenize. One table of members (members.cc) says what is read; members that stand nowhere in it are ignored, as
// vLLM does, and named. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "front/request_json.h"
#include "serve/text_model.h"

namespace ridge::front::openai {

enum class OpenAiCall : uint8_t { kCompletion, kChat, kEmbedding, kTokenize, kDetokenize };

// A text, or tokens.
using Prompt = std::variant<std::string, std::vector<int32_t>>;

struct OpenAiRequest {
  std::vector<Prompt> prompts;  // of a completion, of an embedding (`input`) and of /tokenize; of /detokenize one list
  Json variables;               // for the chat template; null: there are prompts
  bool add_special = true;      // the tokenizer's tokens around a text
  bool continue_final = false;  // the answer goes on with the last message
  serve::TextRequest wanted;    // but its prompt and `key`
  std::string user, cache_salt;
  bool echo = false;
  bool stream = false, usage = false, usage_always = false;
  bool token_ids = false;    // in the answer
  bool token_texts = false;  // in that of /tokenize
  bool has_tools = false;    // and calls of them are looked for in the answer
  bool one_call = false;     // at most (parallel_tool_calls false)
  bool must_call = false;
  std::string called = {};  // of tools that must be called, where there is one only
  text::AnswerForm answers = text::answer_form_of("");
  bool without_thoughts = false;  // they are left out of the answer
  std::vector<std::string> unknown =
      {};  // members that are known nowhere here: kMostUnknown at most, cut to kLongestUnknown
  // For embeddings:
  bool base64 = false;                // FP32, little-endian; else lists of numbers
  std::optional<int64_t> dimensions;  // the first elements, brought to length 1 again
};

// At most, of one request; more is refused before it is kept. OpenAI's numbers where it has any.
constexpr size_t kMostUnknown = 16, kLongestUnknown = 64;  // members that are named, [bytes] of one
constexpr int kMostAnswers = 1024;                         // of all its prompts together
constexpr int kMostInputs = 2048;                          // of an embedding
constexpr int64_t kMostInputTokens = 300'000;              // of all inputs of an embedding together
constexpr size_t kMostLogitBiases = 300;
constexpr size_t kMostStops = 16, kLongestStop = 4096;  // [bytes] of one
constexpr size_t kMostStopTokens = 256;
constexpr size_t kLongestName = 512;  // [bytes] of `user` and `cache_salt`

// Defaults for a request that leaves them out, and its model's abilities.
struct ModelHabits {
  generate::Sampling sampling = {};
  text::AnswerForm answers = text::answer_form_of("");
};

// What OpenAPI says of a request.
Json request_schema(OpenAiCall call);

// The model that a request names; empty: none. kInvalid: something other than a text.
Result<std::string> model_named(const simdjson::dom::object& request);

// The rest of it. kInvalid; `about` is then the member that is wrong, or empty.
Result<OpenAiRequest> read_openai_request(const simdjson::dom::object& object, OpenAiCall call, ModelHabits habits,
                                          std::string& about);

}  // namespace ridge::front::openai
