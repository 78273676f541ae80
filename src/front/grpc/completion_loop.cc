#include "front/grpc/completion_loop.h"

#include <pthread.h>

#include <new>

#include "base/log.h"
#include "front/grpc/call.h"
#include "front/grpc/handover.h"

namespace ridge::front::grpc {
namespace {

constexpr int kOutstanding = 128;                 // calls that can arrive while the thread is busy
constexpr std::chrono::microseconds kWaited{10};  // longer than a look at all sockets takes
constexpr std::chrono::milliseconds kTick{20};    // how soon a request of a client that left is dropped

}  // namespace

void Mailbox::put(std::function<void()> work) {
  MutexLock lock(mutex_);
  if (queue_ == nullptr) return;
  work_.push_back(std::move(work));
  if (std::exchange(woken_, true)) return;
  alarm_.Set(queue_, gpr_time_0(GPR_CLOCK_MONOTONIC), this);  // under the lock: never after the queue's end
}

void Mailbox::done(bool) {
  std::vector<std::function<void()>> work;
  {
    MutexLock lock(mutex_);
    woken_ = false;
    work.swap(work_);
  }
  for (std::function<void()>& each : work) each();
}

void Mailbox::close() {
  std::vector<std::function<void()>> dropped;
  MutexLock lock(mutex_);
  queue_ = nullptr;
  dropped.swap(work_);
}

void Loop::Ticker::start() {
  if (std::exchange(running_, true)) return;
  alarm_.Set(&loop_.queue(), std::chrono::system_clock::now() + kTick, this);
}

void Loop::Ticker::done(bool ok) {
  running_ = false;
  if (ok) loop_.tick();
}

Loop::Loop(std::unique_ptr<::grpc::ServerCompletionQueue> queue, ::grpc::AsyncGenericService& generic, Shared& shared)
    : shared_(shared),
      generic_(generic),
      queue_(std::move(queue)),
      mailbox_(std::make_shared<Mailbox>(*queue_)),
      ticker_(*this) {}

Loop::~Loop() {
  if (thread_.joinable()) return;  // joined as it is destroyed
  queue_->Shutdown();              // never started: its server was not either
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
  }
}

void Loop::start() {
  thread_ = std::jthread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "grpc");
}

void Loop::run() {
  for (int i = 0; i < kOutstanding; ++i) accept_one();
  void* tag = nullptr;
  bool ok = false;
  while (next(&tag, &ok)) {
    back_from_grpc(tag);
    try {
      static_cast<Tag*>(tag)->done(ok);
    } catch (const std::bad_alloc&) {
      log::error("grpc: out of memory in a call");
    }
    if (closing_ && calls_.empty()) close_queue();
  }
}

bool Loop::next(void** tag, bool* ok) {
  const TimePoint begin = now();
  const bool open = queue_->Next(tag, ok);
  has_waited_ |= now() - begin >= kWaited;
  return open;
}

void Loop::accept_one() {
  if (!closing_) std::make_shared<Call>(*this)->request();
}

void Loop::add(const std::shared_ptr<Call>& call) {
  call->set_slot(calls_.size());
  calls_.push_back(call);
  open_calls_ = calls_.size();
}

void Loop::remove(Call& call) {
  const size_t slot = call.slot();
  calls_.back()->set_slot(slot);
  std::swap(calls_[slot], calls_.back());
  calls_.pop_back();
  open_calls_ = calls_.size();
}

void Loop::client_left() {
  client_left_ = true;
  ticker_.start();
}

void Loop::watch(int change) {
  watchers_ += change;
  if (watchers_ > 0) ticker_.start();
}

void Loop::tick() {
  if (std::exchange(client_left_, false)) shared_.service.drop_cancelled();
  if (watchers_ == 0 && !draining()) return;
  const std::vector<std::shared_ptr<Call>> calls = calls_;  // they may end meanwhile
  for (const std::shared_ptr<Call>& call : calls) {
    call->tick();
    if (draining()) call->cut_off_if_late(drain_began_);
  }
  if (!calls_.empty()) ticker_.start();
}

void Loop::begin_drain() {
  if (draining()) return;
  drain_began_ = now();
  const std::vector<std::shared_ptr<Call>> calls = calls_;
  for (const std::shared_ptr<Call>& call : calls) call->begin_drain();
  ticker_.start();
}

void Loop::cut_off() {
  cutting_off_ = true;
  const std::vector<std::shared_ptr<Call>> calls = calls_;
  for (const std::shared_ptr<Call>& call : calls) call->cancel();
}

void Loop::close() { closing_ = true; }

void Loop::close_queue() {
  if (std::exchange(closed_, true)) return;
  mailbox_->close();
  ticker_.stop();
  queue_->Shutdown();
}

}  // namespace ridge::front::grpc
