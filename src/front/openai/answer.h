// OpenAiAnswer: the answer of a language model on its way to a client of OpenAI's API: the pieces of all its prompts
// and choices become one body, or events of a stream. The client's leaving cancels what is generated for it.
//
// Thread-safe: it is filled by step threads, which it never lets wait.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "front/access.h"
#include "front/http/message.h"
#include "front/memory_budget.h"
#include "front/openai/response.h"
#include "front/openai/tool_calls.h"
#include "serve/text_model.h"

namespace ridge::front::openai {

struct OpenAiAnswerOptions {
  OpenAiForm form;
  size_t choices = 1;  // of each prompt
  bool stream = false, usage_always = false;
  const text::CallForm* calls = nullptr;  // that are looked for; null: none
  bool one_call = false;                  // those after the first are left out
  bool must_call = false;                 // all is calls: of this function, or of any
  std::string called = {};
  ThoughtReader::Stage thoughts = ThoughtReader::Stage::kAnswers;
  bool without_thoughts = false;              // they are left out
  std::vector<AnswerPrompt> prompts;          // in their order
  std::shared_ptr<const KeyTable> keys = {};  // that count the tokens; null: none
  std::string key = {};                       // its name
  std::shared_ptr<Trace> trace = {};          // null: not traced
  MemoryHold memory = MemoryHold();           // what is kept of the request; the answer as it grows is added
};

class OpenAiAnswer : public std::enable_shared_from_this<OpenAiAnswer> {
 public:
  OpenAiAnswer(OpenAiAnswerOptions options, http::Responder responder);

  std::span<const AnswerPrompt> prompts() const { return options_.prompts; }
  std::shared_ptr<serve::TextSink> sink_of(size_t prompt);
  void hold(std::unique_ptr<serve::TextTicket> ticket);
  // A prompt was refused: the answer is that error, and what is generated ends.
  void refuse(const Error& error);
  // All prompts are generated.
  void complete(const std::stop_token& client);

 private:
  class Sink;
  struct Choice {
    explicit Choice(const OpenAiAnswerOptions& options);
    AnswerPart part = {};  // what has not been sent
    ThoughtReader thoughts;
    std::optional<ToolCallReader> calls;
    int calls_found = 0;
  };
  using Tickets = std::vector<std::unique_ptr<serve::TextTicket>>;

  void begin(size_t prompt, std::vector<serve::TextToken> tokens);
  void piece(size_t prompt, serve::TextPiece piece, const serve::TextUsage& usage);
  void end(size_t prompt, Status status, const serve::TextUsage& usage);
  void leave();

  bool keep(uint64_t bytes) RIDGE_REQUIRES(mutex_);
  void take_text(Choice& choice, serve::TextPiece& piece);
  void take_found(Choice& choice, ToolCallReader::Found found);
  void send_part(Choice& choice) RIDGE_REQUIRES(mutex_);
  void fail(const Error& error) RIDGE_REQUIRES(mutex_);
  void finish() RIDGE_REQUIRES(mutex_);
  void send_whole() RIDGE_REQUIRES(mutex_);
  template <typename Work>
  void guarded(Work work) RIDGE_REQUIRES(mutex_);
  http::Response described(http::Response response) const;
  serve::TextUsage usage() const RIDGE_REQUIRES(mutex_);

  OpenAiAnswerOptions options_;  // but the prompts' tokens, which begin() brings, and `memory`: constant
  Mutex mutex_;
  http::Responder responder_ RIDGE_GUARDED_BY(mutex_);
  std::shared_ptr<http::AnswerStream> stream_ RIDGE_GUARDED_BY(mutex_);  // once its head is on its way
  std::vector<Choice> choices_ RIDGE_GUARDED_BY(mutex_);
  std::vector<serve::TextUsage> usages_ RIDGE_GUARDED_BY(mutex_);  // by prompt
  size_t open_ RIDGE_GUARDED_BY(mutex_) = 0;                       // prompts that have not ended
  bool over_ RIDGE_GUARDED_BY(mutex_) = false;                     // nothing more is sent
  Tickets tickets_ RIDGE_GUARDED_BY(mutex_);  // let go of, without the mutex, when nothing more is sent
  std::optional<std::stop_callback<std::function<void()>>> when_left_;  // last: ends first
};

}  // namespace ridge::front::openai
