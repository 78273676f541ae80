// TextModel: one version of a language model as the front ends see it: text in, pieces of text out. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "generate/scheduler.h"
#include "serve/text_figures.h"
#include "text/answer_form.h"
#include "text/json_grammar.h"
#include "text/tokenizer.h"

namespace ridge::serve {

// Copies share what may be long. What a client may send of it at most: front/openai/request.h.
struct TextRequest {
  generate::SharedList<int32_t> prompt;
  int choices = 1;                     // answers to it, drawn from seed, seed + 1, …
  std::optional<int64_t> most_tokens;  // empty: up to the context
  int64_t least_tokens = 0;
  generate::SharedList<std::string> stop;  // texts that end an answer; they are not part of it
  bool include_stop = false;               // but with this
  generate::SharedList<int32_t> stop_tokens;
  bool ignore_eos = false;
  bool with_special = false;                     // special tokens are written into the text
  std::span<const std::string_view> marks = {};  // these are in any case; they outlive the answer
  generate::Sampling sampling;
  bool has_seed = false;  // else the server draws one
  int logprobs = -1;
  bool prompt_logprobs = false;
  std::optional<text::JsonGrammar> form;  // of the answer (response_format, tool_choice); empty: free text
  std::string key;                        // of fair share
  uint64_t prefix_group = 0;              // as generate::Request's
  std::optional<Nanoseconds> first_token_within;
};

// One token with its chance, for logprobs.
struct TextToken {
  int32_t token = 0;
  std::string text;  // as bytes; may be part of a character
  float logprob = 0;
  std::vector<TextToken> alternatives;
};

struct TextPiece {
  int choice = 0;
  std::string text;                // UTF-8, whole characters; may be empty
  std::vector<int32_t> token_ids;  // that this piece adds
  std::vector<TextToken> tokens;   // only with logprobs
  generate::Finish finish = generate::Finish::kNone;
  std::string stop_reason;                 // the text that ended it, or empty
  std::optional<int32_t> stop_token = {};  // the one of the request's that ended it
};

struct TextUsage {
  int64_t prompt_tokens = 0, cached_tokens = 0, completion_tokens = 0;
  double first_token_seconds = 0, total_seconds = 0;
  // Times of the steps that computed its tokens, each once for each of its answers: measured, and the least that the
  // machine needs. 0: not known.
  double step_seconds = 0, bound_seconds = 0;
  double limit_share() const { return step_seconds > 0 ? bound_seconds / step_seconds : 0; }
};

// Gets an answer as it comes, on the step thread: it must not wait. begin(), piece()…, end(), or end() alone.
class TextSink {
 public:
  virtual ~TextSink() = default;
  // `prompt`: with prompt_logprobs, the prompt's tokens; of the first no chance.
  virtual void begin(const TextUsage& usage, std::vector<TextToken> prompt) = 0;
  virtual void piece(TextPiece piece, const TextUsage& usage) = 0;
  // Once, last: of all choices together.
  virtual void end(Status status, const TextUsage& usage) = 0;
};

// Ends the generation at the next step when it is destroyed or cancelled. end() still comes.
class TextTicket {
 public:
  virtual ~TextTicket() = default;
  virtual void cancel() = 0;
};

class TextModel {
 public:
  virtual ~TextModel() = default;
  virtual const std::string& name() const = 0;
  virtual int64_t context() const = 0;  // most tokens of prompt and answer
  virtual int64_t created() const = 0;  // [s since 1970]
  virtual const text::Tokenizer& tokenizer() const = 0;
  // Sampling for a request that leaves it out: recommended by the model's files.
  virtual const generate::Sampling& usual_sampling() const = 0;
  // It has a chat template, and that writes a conversation of one message.
  virtual bool chats() const = 0;
  virtual bool random_weights() const = 0;  // what it says means nothing
  virtual const text::AnswerForm& answer_form() const = 0;
  // The conversation by the model's chat template: messages as OpenAI has them; contents are texts, lists of parts of
  // type text, or null. kInvalid: it has none, or what the template says.
  virtual Result<std::string> prompt_of(Json variables) const = 0;
  // Errors come at once and the sink is not called: kInvalid, kUnavailable (with what was predicted).
  virtual Result<std::unique_ptr<TextTicket>> generate(TextRequest request, std::shared_ptr<TextSink> sink) = 0;
  virtual TextFigures figures() const = 0;
};
}  // namespace ridge::serve
