// ModelStreamInfer: many requests and answers in one call.
#include <deque>
#include <optional>
#include <utility>

#include "front/error_text.h"
#include "front/grpc/infer_call.h"
#include "serve/server.h"

namespace ridge::front::grpc {
namespace {

constexpr size_t kMostUnanswered = 64;        // requests of a stream; then no more are read
constexpr size_t kLongestStreamError = 4096;  // [bytes]

// Answers leave in the order of their requests.
class StreamExchange final : public Exchange {
 public:
  explicit StreamExchange(Call& call) : call_(call) {}

  void begin() override {
    if (call_.draining()) return call_.finish(serve::shutting_down());
    call_.read();
  }

  void received(bool ok) override {
    half_closed_ = !ok;
    if (!ok) return advance();
    const uint64_t number = first_ + answers_.size();
    answers_.emplace_back();
    infer(call_, call_.now(), stop_.get_token(),
          [this, number](InferOutcome outcome) { store(number, std::move(outcome)); });
    read_more();
  }

  void written() override {
    writing_ = false;
    if (const std::shared_ptr<Trace> trace = std::move(answers_.front()->trace)) trace->end();
    answers_.pop_front();
    ++first_;
    if (paused_) read_more();
    advance();
  }

  void cancelled() override {
    stop_.request_stop();
    call_.client_left();
  }

  void begin_drain() override {
    draining_ = true;
    advance();
  }

  bool waits_for_ever() const override { return true; }

 private:
  struct Answer {
    AnswerParts parts;
    std::shared_ptr<Trace> trace;  // null: not traced
  };

  void read_more() {
    paused_ = answers_.size() >= kMostUnanswered;
    if (!paused_ && !draining_) call_.read();
  }

  void store(uint64_t number, InferOutcome outcome) {
    const std::string id = outcome.id;
    call_.describe(outcome.model, id);
    std::shared_ptr<Trace> trace = outcome.trace;
    Result<AnswerParts> parts = parts_of(std::move(outcome), AnswerKind::kStream);
    if (!parts) {
      AnswerParts failed(1);
      failed[0].text = encode_stream_error(error_text(parts.error().message, kLongestStreamError), id);
      parts = std::move(failed);
    }
    answers_[static_cast<size_t>(number - first_)] = Answer{std::move(*parts), std::move(trace)};
    advance();
  }

  // Sends the next answer if it is there, or ends the call if none is to come.
  void advance() {
    if (writing_) return;
    if (answers_.empty() && (half_closed_ || draining_))
      return call_.finish(half_closed_ ? Status() : serve::shutting_down());
    if (answers_.empty() || !answers_.front()) return;
    writing_ = true;
    call_.write(std::move(answers_.front()->parts));
  }

  Call& call_;  // is held while a request is under way
  std::stop_source stop_;
  std::deque<std::optional<Answer>> answers_;  // of the requests from number first_ on
  uint64_t first_ = 0;
  bool writing_ = false;  // the first one
  bool paused_ = false;   // nothing is read
  bool half_closed_ = false, draining_ = false;
};

}  // namespace

std::unique_ptr<Exchange> stream_exchange(Call& call) { return std::make_unique<StreamExchange>(call); }

}  // namespace ridge::front::grpc
