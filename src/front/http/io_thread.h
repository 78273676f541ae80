// The inside of Server: one event loop, its connections and its mailbox. Included only by the server's own sources, which is
// why Asio is visible here.
//
// Everything runs on the thread of `CompletionQueue::context` except CompletionQueue::put, which is thread-safe.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "front/body.h"
#include "front/http/message.h"
#include "front/http/server.h"

namespace ridge::front::http {

class Connection;
class IoThread;

// Answers on their way to connections. Shared by the thread and by every Responder, so that an answer may arrive after its
// connection, or the whole server, is gone.
class CompletionQueue {
 public:
  struct Item {
    uint64_t connection = 0;
    std::optional<Response> response;  // or, when absent, the result of `finish`
    Finish finish;
  };

  void put(Item item);

  boost::asio::io_context context{1};  // 1 = run by one thread; posting from others stays allowed
  // Of the context's thread only:
  IoThread* thread = nullptr;  // null = stopped
  std::vector<Item> local;
  std::vector<Item> take_remote();

 private:
  Mutex mutex_;
  std::vector<Item> remote_ RIDGE_GUARDED_BY(mutex_);
};

// How many connections the server has, and a waiter for none.
class ConnectionCount {
 public:
  bool take(int limit);  // one more; false: there are so many
  void give_back();
  bool wait_for_none(Clock& clock, Nanoseconds patience);

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  int count_ RIDGE_GUARDED_BY(mutex_) = 0;
};

class IoThread {
 public:
  IoThread(const ServerOptions& options, Handler& handler, ConnectionCount& count, size_t index);
  ~IoThread();  // cuts all connections off

  boost::asio::io_context& context() { return completions_->context; }

  // On this thread:
  // A connection that was taken from the count.
  void adopt(boost::asio::ip::tcp::socket socket);
  void retire() { retiring_ = true; }
  void begin_drain();
  // Delivers the mailbox's content. Called at the end of every event.
  void run_completions();
  void forget(uint64_t connection);
  void client_left() { client_left_ = true; }  // before its answer

  const ServerOptions& options() const { return options_; }
  TimePoint now() const { return options_.clock->now(); }
  Handler& handler() { return handler_; }
  BodyPool& bodies() { return bodies_; }
  const std::shared_ptr<CompletionQueue>& mailbox() const { return completions_; }
  size_t index() const { return index_; }
  bool draining() const { return drain_began_ != TimePoint::max(); }
  TimePoint drain_began() const { return drain_began_; }
  bool keeps_connections() const { return !draining() && !retiring_; }

 private:
  struct Slot {
    std::shared_ptr<Connection> connection;
    uint32_t generation = 0;
  };

  void run();
  void tick();
  void close_all();
  Connection* find(uint64_t id);
  template <typename Visit>
  void for_each_connection(Visit visit);

  const ServerOptions& options_;
  Handler& handler_;
  ConnectionCount& count_;
  size_t index_;
  std::shared_ptr<CompletionQueue> completions_;
  BodyPool bodies_;
  boost::asio::steady_timer ticker_;
  TimePoint tidy_at_{};
  bool closed_ = false;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  TimePoint drain_began_ = TimePoint::max();
  bool retiring_ = false;
  bool client_left_ = false;
  std::jthread thread_;  // last: ends first
};

}  // namespace ridge::front::http
