// The inside of Server: completion queues and their threads. Included only by this folder's own sources, which is why gRPC is
// visible here.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "front/body.h"
#include "front/grpc/server.h"
#include "front/job_threads.h"

namespace ridge::front::grpc {

class Call;

// What a completion queue returns when an operation has ended.
class Tag {
 public:
  virtual ~Tag() = default;
  virtual void done(bool ok) = 0;
};

// Work for a loop's thread, from any thread. It may outlive the loop.
class Mailbox final : public Tag {
 public:
  explicit Mailbox(::grpc::ServerCompletionQueue& queue) : queue_(&queue) {}
  // One wake-up for several. Dropped once the loop has ended.
  void put(std::function<void()> work);
  void done(bool ok) override;
  void close();

 private:
  Mutex mutex_;
  ::grpc::ServerCompletionQueue* queue_ RIDGE_GUARDED_BY(mutex_);  // null: closed
  ::grpc::Alarm alarm_ RIDGE_GUARDED_BY(mutex_);
  bool woken_ RIDGE_GUARDED_BY(mutex_) = false;
  std::vector<std::function<void()>> work_ RIDGE_GUARDED_BY(mutex_);
};

// What the loops of a server share. Outlives them.
struct Shared {
  ServerOptions options;
  serve::Service& service;
  ControlThreads& control;
  BodyPool bodies;
  JobThreads convert;  // long requests and compressed answers, off the loops' threads
};

// One completion queue, its thread, and the calls that it accepted. Everything runs on that thread but the constructor, start(),
// mailbox() and the destructor, which waits for the end of all calls after close() has been put into the mailbox.
class Loop {
 public:
  Loop(std::unique_ptr<::grpc::ServerCompletionQueue> queue, ::grpc::AsyncGenericService& generic, Shared& shared);
  ~Loop();

  void start();
  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }

  void accept_one();
  void add(const std::shared_ptr<Call>& call);
  void remove(Call& call);
  // A call whose request may wait in a queue is over: it is dropped soon.
  void client_left();
  // Calls tick() of all calls while at least one watches.
  void watch(int change);
  void begin_drain();
  void cut_off();  // all calls, now and later
  void close();    // after the server's shut-down

  // Whether its thread has waited for work since it was last asked: then it can do more than read requests.
  bool take_leisure() { return std::exchange(has_waited_, false); }

  Shared& shared() { return shared_; }
  ::grpc::ServerCompletionQueue& queue() { return *queue_; }
  ::grpc::AsyncGenericService& generic() { return generic_; }
  TimePoint now() const { return shared_.options.clock->now(); }
  bool draining() const { return drain_began_ != TimePoint::max(); }
  bool cutting_off() const { return cutting_off_; }
  size_t open_calls() const { return open_calls_; }  // any thread

 private:
  // Every 20 ms while something needs it.
  class Ticker final : public Tag {
   public:
    explicit Ticker(Loop& loop) : loop_(loop) {}
    void start();
    void stop() { alarm_.Cancel(); }
    void done(bool ok) override;

   private:
    Loop& loop_;
    ::grpc::Alarm alarm_;
    bool running_ = false;
  };

  void run();
  bool next(void** tag, bool* ok);
  void tick();
  void close_queue();

  Shared& shared_;
  ::grpc::AsyncGenericService& generic_;
  std::unique_ptr<::grpc::ServerCompletionQueue> queue_;
  std::shared_ptr<Mailbox> mailbox_;
  Ticker ticker_;
  bool has_waited_ = false;
  std::vector<std::shared_ptr<Call>> calls_;  // accepted and not over
  std::atomic<size_t> open_calls_ = 0;        // of these
  bool client_left_ = false;
  int watchers_ = 0;
  TimePoint drain_began_ = TimePoint::max();
  bool cutting_off_ = false, closing_ = false, closed_ = false;
  std::jthread thread_;  // last: ends first
};

}  // namespace ridge::front::grpc
