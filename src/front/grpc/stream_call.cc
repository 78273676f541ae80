// ModelStreamInfer: many requests and answers in one call.
#include <deque>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "front/error_text.h"
#include "front/grpc/infer_call.h"
#include "front/grpc/message_to_send.h"
#include "serve/server.h"

namespace ridge::front::grpc {
namespace {

constexpr size_t kMostUnanswered = 64;        // requests of a stream; then no more are read
constexpr size_t kLongestStreamError = 4096;  // [bytes]

// Answers leave in the order of their requests. Thread-safe where answers come from workers.
class StreamExchange final : public Exchange {
 public:
  explicit StreamExchange(Call& call) : call_(call) {}

  void begin() override {
    if (call_.loop().draining()) return call_.finish(serve::shutting_down());
    call_.read();
  }

  void received(bool ok) override {
    uint64_t number = 0;
    {
      MutexLock lock(mutex_);
      half_closed_ = !ok;
      if (ok) {
        number = first_ + answers_.size();
        answers_.emplace_back();
      }
    }
    if (!ok) return advance();
    infer(call_, call_.loop().now(), stop_.get_token(),
          [this, call = call_.shared_from_this(), number](InferOutcome outcome) { store(number, std::move(outcome)); });
    if (may_read()) call_.read();
  }

  void written() override {
    bool resume = false;
    std::shared_ptr<Trace> trace;
    {
      MutexLock lock(mutex_);
      writing_ = false;
      trace.swap(answers_.front()->trace);
      answers_.pop_front();
      ++first_;
      resume = std::exchange(paused_, false);
    }
    if (trace) trace->end();
    if (resume && may_read()) call_.read();
    advance();
  }

  void cancelled() override {
    stop_.request_stop();
    call_.loop().client_left();
  }

  void begin_drain() override {
    {
      MutexLock lock(mutex_);
      draining_ = true;
    }
    advance();
  }

  bool busy() const override {
    MutexLock lock(mutex_);
    return !answers_.empty() && !answers_.front() && !writing_;
  }

 private:
  struct Answer {
    AnswerParts parts;
    std::shared_ptr<Trace> trace;  // null: not traced
  };

  bool may_read() {
    MutexLock lock(mutex_);
    paused_ = answers_.size() >= kMostUnanswered;
    return !paused_ && !draining_;
  }

  void store(uint64_t number, InferOutcome outcome) {
    const std::string id = outcome.id;
    std::shared_ptr<Trace> trace = outcome.trace;
    Result<AnswerParts> parts = parts_of(std::move(outcome), AnswerKind::kStream);
    if (!parts) {
      AnswerParts failed(1);
      failed[0].text = encode_stream_error(error_text(parts.error().message, kLongestStreamError), id);
      parts = std::move(failed);
    }
    {
      MutexLock lock(mutex_);
      answers_[static_cast<size_t>(number - first_)] = Answer{std::move(*parts), std::move(trace)};
    }
    advance();
  }

  // Sends the next answer if it is there, or ends the call if none is to come.
  void advance() {
    AnswerParts next;
    bool ends = false, complete = false;
    {
      MutexLock lock(mutex_);
      if (writing_ || ended_) return;
      ends = answers_.empty() && (half_closed_ || draining_);
      complete = half_closed_;
      if (ends) {
        ended_ = true;
      } else {
        if (answers_.empty() || !answers_.front()) return;
        writing_ = true;
        next = std::move(answers_.front()->parts);
      }
    }
    if (ends) return call_.finish(complete ? Status() : serve::shutting_down());
    send_from_right_thread(
        call_.shared_from_this(), std::move(next),
        [call = call_.shared_from_this()](AnswerParts parts) { call->write(message_of(std::move(parts))); });
  }

  Call& call_;
  std::stop_source stop_;
  mutable Mutex mutex_;
  std::deque<std::optional<Answer>> answers_ RIDGE_GUARDED_BY(mutex_);  // of the requests from number first_ on
  uint64_t first_ RIDGE_GUARDED_BY(mutex_) = 0;
  bool writing_ RIDGE_GUARDED_BY(mutex_) = false;  // the first one
  bool paused_ RIDGE_GUARDED_BY(mutex_) = false;   // nothing is read
  bool half_closed_ RIDGE_GUARDED_BY(mutex_) = false;
  bool draining_ RIDGE_GUARDED_BY(mutex_) = false;
  bool ended_ RIDGE_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<Exchange> stream_exchange(Call& call) { return std::make_unique<StreamExchange>(call); }

}  // namespace ridge::front::grpc
