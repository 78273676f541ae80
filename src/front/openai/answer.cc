#include "front/openai/answer.h"

#include <utility>

#include "front/error_text.h"
#include "front/span_id.h"

namespace ridge::front::openai {
namespace {

constexpr size_t kLongestTracedError = 1024;  // [bytes]
constexpr size_t kCallIdDigits = 24;

uint64_t bytes_of(std::span<const serve::TextToken> tokens) {
  uint64_t bytes = 0;
  for (const serve::TextToken& token : tokens) bytes += sizeof(token) * (1 + token.alternatives.size());
  return bytes;
}

}  // namespace

class OpenAiAnswer::Sink final : public serve::TextSink {
 public:
  Sink(std::shared_ptr<OpenAiAnswer> answer, size_t prompt) : answer_(std::move(answer)), prompt_(prompt) {}
  void begin(const serve::TextUsage&, std::vector<serve::TextToken> prompt) override {
    answer_->begin(prompt_, std::move(prompt));
  }
  void piece(serve::TextPiece piece, const serve::TextUsage& usage) override {
    answer_->piece(prompt_, std::move(piece), usage);
  }
  void end(Status status, const serve::TextUsage& usage) override { answer_->end(prompt_, std::move(status), usage); }

 private:
  const std::shared_ptr<OpenAiAnswer> answer_;
  const size_t prompt_;
};

OpenAiAnswer::Choice::Choice(const OpenAiAnswerOptions& options) : thoughts(options.thoughts) {
  if (options.calls != nullptr) calls.emplace(*options.calls);
}

OpenAiAnswer::OpenAiAnswer(OpenAiAnswerOptions options, http::Responder responder)
    : options_(std::move(options)),
      responder_(std::move(responder)),
      choices_(options_.prompts.size() * options_.choices, Choice(options_)),
      usages_(options_.prompts.size()),
      open_(options_.prompts.size()) {
  for (size_t i = 0; i < choices_.size(); ++i) {
    AnswerPart& part = choices_[i].part;
    part.choice = static_cast<int>(i);
    part.begins = true;
    part.prompt = &options_.prompts[i / options_.choices];
  }
}

std::shared_ptr<serve::TextSink> OpenAiAnswer::sink_of(size_t prompt) {
  return std::make_shared<Sink>(shared_from_this(), prompt);
}

void OpenAiAnswer::hold(std::unique_ptr<serve::TextTicket> ticket) {
  MutexLock lock(mutex_);
  if (!over_) tickets_.push_back(std::move(ticket));
}

void OpenAiAnswer::refuse(const Error& error) {
  Tickets gone;
  MutexLock lock(mutex_);
  if (!over_) fail(error);
  gone.swap(tickets_);
}

void OpenAiAnswer::complete(const std::stop_token& client) {
  when_left_.emplace(client, [this] { leave(); });
}

void OpenAiAnswer::leave() {
  Tickets gone;
  MutexLock lock(mutex_);
  over_ = true;
  gone.swap(tickets_);
}

void OpenAiAnswer::begin(size_t prompt, std::vector<serve::TextToken> tokens) {
  Tickets gone;
  MutexLock lock(mutex_);
  if (!over_ && keep(bytes_of(tokens))) options_.prompts[prompt].tokens = std::move(tokens);
  if (over_) gone.swap(tickets_);
}

// A stream keeps nothing that counts.
bool OpenAiAnswer::keep(uint64_t bytes) {
  if (options_.stream || options_.memory.add(bytes)) return true;
  fail({Code::kUnavailable, "the memory for requests does not hold this answer (--max-body-memory); ask for less"});
  return false;
}

void OpenAiAnswer::take_text(Choice& choice, serve::TextPiece& piece) {
  AnswerPart& part = choice.part;
  const bool last = piece.finish != generate::Finish::kNone, cut = piece.finish == generate::Finish::kLength;
  for (const bool end : {false, true}) {
    if (end && !last) return;
    ThoughtReader::Found read = end ? choice.thoughts.end() : choice.thoughts.add(piece.text);
    if (!options_.without_thoughts) part.thought += read.thought;
    if (!choice.calls)
      part.text += read.text;
    else
      take_found(choice, choice.calls->add(read.text));
  }
  if (choice.calls) take_found(choice, choice.calls->end(cut, options_.must_call));
  if (cut && choice.calls_found == 0 && !options_.called.empty()) take_found(choice, {{}, {{options_.called, ""}}});
  const bool calls_tools = choice.calls_found > 0 && piece.finish == generate::Finish::kStop;
  part.finish = calls_tools ? "tool_calls" : finish_name(piece.finish);
  part.stop_reason = std::move(piece.stop_reason);
  part.stop_token = piece.stop_token;
}

void OpenAiAnswer::take_found(Choice& choice, ToolCallReader::Found found) {
  choice.part.text += found.text;
  for (ToolCall& call : found.calls) {
    if (options_.one_call && choice.calls_found > 0) break;
    choice.part.calls.push_back(
        {choice.calls_found++, "call_" + new_trace_id().substr(0, kCallIdDigits), std::move(call)});
  }
}

void OpenAiAnswer::piece(size_t prompt, serve::TextPiece piece, const serve::TextUsage& usage) {
  Tickets gone;
  MutexLock lock(mutex_);
  if (over_) return;
  usages_[prompt] = usage;
  if (!keep(piece.text.size() + piece.token_ids.size() * sizeof(int32_t) + bytes_of(piece.tokens)))
    return gone.swap(tickets_);
  Choice& choice = choices_[prompt * options_.choices + static_cast<size_t>(piece.choice)];
  AnswerPart& part = choice.part;
  take_text(choice, piece);
  for (serve::TextToken& token : piece.tokens) part.tokens.push_back(std::move(token));
  if (options_.form.token_ids)
    part.token_ids.insert(part.token_ids.end(), piece.token_ids.begin(), piece.token_ids.end());
  const bool echoes = part.prompt != nullptr && !part.prompt->echo.empty();
  const bool shows =
      echoes || !part.text.empty() || !part.thought.empty() || !part.calls.empty() || !part.finish.empty();
  if (options_.stream && shows) send_part(choice);
  if (over_) gone.swap(tickets_);
}

// The stream neither waits nor calls back, so it is written to under the lock, which keeps the order.
void OpenAiAnswer::send_part(Choice& choice) {
  if (!stream_) {
    stream_ = std::make_shared<http::AnswerStream>(kNoEvent);
    http::Response head;
    head.content_type = "text/event-stream; charset=utf-8";
    head.stream = stream_;
    responder_.send(described(std::move(head)));
  }
  AnswerPart& part = choice.part;
  const serve::TextUsage now = options_.usage_always ? usage() : serve::TextUsage();
  over_ = !stream_->write(event_of(options_.form, part, options_.usage_always ? &now : nullptr));
  size_t offset = part.offset;
  for (const std::span<const serve::TextToken> tokens : {part.prompt_tokens(), std::span(std::as_const(part.tokens))})
    for (const serve::TextToken& token : tokens) offset += characters_of(token.text);
  AnswerPart next;
  next.choice = part.choice;
  next.offset = offset;
  part = std::move(next);
}

serve::TextUsage OpenAiAnswer::usage() const {
  serve::TextUsage sum;
  for (const serve::TextUsage& each : usages_) {
    sum.prompt_tokens += each.prompt_tokens;
    sum.cached_tokens += each.cached_tokens;
    sum.completion_tokens += each.completion_tokens;
    sum.step_seconds += each.step_seconds;
    sum.bound_seconds += each.bound_seconds;
  }
  return sum;
}

// Adds the text of the access log and the trace.
http::Response OpenAiAnswer::described(http::Response response) const {
  response.request_id = options_.form.id;
  response.model = options_.form.model;
  if (!options_.trace) return response;
  options_.trace->record.request_id = options_.form.id;
  if (response.status >= 500) options_.trace->record.error = error_text(response.error, kLongestTracedError);
  response.trace = options_.trace;
  return response;
}

void OpenAiAnswer::fail(const Error& error) {
  over_ = true;
  guarded([&]() RIDGE_REQUIRES(mutex_) {
    http::Response response = http::inference_error_response(error);
    if (!stream_) return responder_.send(described(std::move(response)));
    stream_->write(error_event(response));
    stream_->write(kDoneEvent);
    stream_->end();
  });
}

// Without memory for its end a stream is given up, and another answer is the error of its responder.
template <typename Work>
void OpenAiAnswer::guarded(Work work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    if (stream_) stream_->give_up();
    const http::Responder gone = std::move(responder_);
  }
}

void OpenAiAnswer::finish() {
  over_ = true;
  guarded([&]() RIDGE_REQUIRES(mutex_) { send_whole(); });
}

void OpenAiAnswer::send_whole() {
  if (stream_) {
    if (options_.form.with_usage) stream_->write(usage_event(options_.form, usage()));
    stream_->write(kDoneEvent);
    return stream_->end();
  }
  // Written where it is sent from, not on a step thread.
  std::vector<AnswerPart> parts;
  for (Choice& choice : choices_) parts.push_back(std::move(choice.part));
  responder_.send_later([self = shared_from_this(), parts = std::move(parts), used = usage()](const http::ReplyTo&) {
    http::Response response;
    response.text = whole_answer(self->options_.form, parts, used);
    return std::optional(self->described(std::move(response)));
  });
}

void OpenAiAnswer::end(size_t prompt, Status status, const serve::TextUsage& usage) {
  Tickets gone;
  count_tokens(options_.keys.get(), options_.key, usage.prompt_tokens, usage.completion_tokens);
  MutexLock lock(mutex_);
  usages_[prompt] = usage;
  --open_;
  if (over_) return;
  if (!status)
    fail(status.error());
  else if (open_ == 0)
    finish();
  if (over_) gone.swap(tickets_);
}

}  // namespace ridge::front::openai
