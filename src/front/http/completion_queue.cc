#include "front/http/completion_queue.h"

#include <boost/asio/post.hpp>
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
}

void CompletionQueue::put(Item item) {
  if (own_mailbox == this) {
    local.push_back(std::move(item));
    return;
  }
  bool wake = false;
  {
    MutexLock lock(mutex_);
    wake = remote_.empty();  // otherwise it has already been woken
    remote_.push_back(std::move(item));
  }
  if (wake)
    boost::asio::post(context, [this] {
      if (thread_ != nullptr) thread_->run_completions();
    });
}

std::vector<CompletionQueue::Item> CompletionQueue::take_remote() {
  MutexLock lock(mutex_);
  return std::exchange(remote_, {});
}

Responder::Responder(std::shared_ptr<CompletionQueue> mailbox, uint64_t connection)
    : completions_(std::move(mailbox)), connection_(connection) {}

Responder::Responder(Responder&& other) noexcept = default;

Responder& Responder::operator=(Responder&& other) noexcept {
  std::swap(completions_, other.completions_);
  std::swap(connection_, other.connection_);
  return *this;
}

Responder::~Responder() {
  if (completions_) send(error_response(500, "the request was dropped without an answer"));
}

void Responder::send(Response response) {
  if (auto mailbox = std::exchange(completions_, nullptr)) mailbox->put({connection_, std::move(response), nullptr});
}

void Responder::send_later(Finish finish) {
  if (auto mailbox = std::exchange(completions_, nullptr)) mailbox->put({connection_, std::nullopt, std::move(finish)});
}

}  // namespace ridge::front::http
