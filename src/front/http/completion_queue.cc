#include "front/http/completion_queue.h"

#include <boost/asio/post.hpp>
#include <new>
#include <utility>

#include "front/http/io_thread.h"

namespace ridge::front::http {
namespace {

// The mailbox of this thread, so that immediate answers need no lock.
thread_local const CompletionQueue* own_mailbox = nullptr;

}  // namespace

void CompletionQueue::start(IoThread& thread) {
  own_mailbox = this;
  thread_ = &thread;
}

void CompletionQueue::stop() {
  thread_ = nullptr;
  own_mailbox = nullptr;
  std::list<Completion> undelivered = std::exchange(local, {});
  MutexLock lock(mutex_);
  stopped_ = true;
  undelivered.splice(undelivered.end(), remote_);
}

void CompletionQueue::put(std::list<Completion>&& one) {
  if (own_mailbox == this) return local.splice(local.end(), one);
  bool wake = false;
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
    wake = remote_.empty();  // otherwise it has already been woken
    remote_.splice(remote_.end(), one);
  }
  if (wake) try {
      boost::asio::post(context, [this] {
        if (thread_ != nullptr) thread_->run_completions();
      });
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the thread's next tick takes it
    }
}

void CompletionQueue::wake(uint64_t connection) {
  try {
    put(std::list<Completion>(1, Completion{.connection = connection}));
  } catch (const std::bad_alloc&) {
    missed_ = true;
  }
}

std::list<Completion> CompletionQueue::take_remote() {
  MutexLock lock(mutex_);
  return std::exchange(remote_, {});
}

Responder::Responder(std::shared_ptr<CompletionQueue> mailbox, uint64_t connection)
    : completions_(std::move(mailbox)), completion_(1, Completion{.connection = connection}) {}

Responder::Responder(Responder&& other) noexcept = default;

Responder& Responder::operator=(Responder&& other) noexcept {
  std::swap(completions_, other.completions_);
  std::swap(completion_, other.completion_);
  return *this;
}

Responder::~Responder() {
  try {
    if (completions_) send(error_response(503, "the request was dropped without an answer; try again later"));
  } catch (const std::bad_alloc&) {
    drop();
  }
}

void Responder::drop() {
  Response empty;
  empty.status = 503;
  send(std::move(empty));
}

void Responder::send(Response response) {
  if (!completions_) return;
  completion_.front().response = std::move(response);
  std::exchange(completions_, nullptr)->put(std::move(completion_));
}

void Responder::send_what(Finish finish) {
  if (!completions_) return;
  completion_.front().finish = std::move(finish);
  std::exchange(completions_, nullptr)->put(std::move(completion_));
}

}  // namespace ridge::front::http
