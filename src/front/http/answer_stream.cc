#include "front/http/answer_stream.h"

namespace ridge::front::http {

bool AnswerStream::write(std::string_view text) {
  std::shared_ptr<const std::function<void()>> wake;
  bool kept = false;
  {
    MutexLock lock(mutex_);
    if (closed_ || given_up_) return false;
    const bool was_empty = waiting_.empty();
    kept = waiting_.size() + text.size() <= kMostWaiting;
    if (kept)
      waiting_ += text;
    else
      given_up_ = true;
    if (was_empty || !kept) wake = wake_;
  }
  if (wake) (*wake)();
  return kept;
}

void AnswerStream::end() { tell(&AnswerStream::ended_); }
void AnswerStream::give_up() { tell(&AnswerStream::given_up_); }

void AnswerStream::tell(bool AnswerStream::*change) {
  std::shared_ptr<const std::function<void()>> wake;
  {
    MutexLock lock(mutex_);
    this->*change = true;
    if (!closed_) wake = wake_;
  }
  if (wake) (*wake)();
}

void AnswerStream::open(std::function<void()> wake) {
  auto kept = std::make_shared<const std::function<void()>>(std::move(wake));
  MutexLock lock(mutex_);
  wake_ = std::move(kept);
}

AnswerStream::Taken AnswerStream::take() {
  MutexLock lock(mutex_);
  return {std::exchange(waiting_, {}), ended_, given_up_};
}

void AnswerStream::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  waiting_ = {};
  wake_ = nullptr;
}

}  // namespace ridge::front::http
