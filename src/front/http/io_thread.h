// The inside of Server: one event loop and its connections. Only the server's sources include it: it shows Asio.
//
// Everything runs on the thread of its mailbox's context.
#pragma once

#include <atomic>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "front/body.h"
#include "front/http/completion_queue.h"
#include "front/http/connection.h"
#include "front/http/port.h"
#include "front/http/server.h"
#include "front/http/stream.h"

namespace ridge::front::http {

// Warnings that the log shows once per server, whatever clients do.
struct Warnings {
  std::string server;  // "http 0.0.0.0:8000"
  std::atomic<bool> plain_to_tls = false, tls_to_plain = false, handshake = false;

  void once(std::atomic<bool>& warned, const std::string& what) const;
  void tls_at_plain_port() {
    once(tls_to_plain, "a client spoke TLS, which this port does not (--tls-cert), and was refused");
  }
  // `problem`: why; empty: the client just left.
  void failed_handshake(const std::string& problem);
};

// How many connections the server has, in all and by client address, and a waiter for none.
class ConnectionCount {
 public:
  using Address = boost::asio::ip::address;
  ConnectionCount(int limit, int limit_per_address) : limit_(limit), limit_per_address_(limit_per_address) {}
  // One more of this address. Why not: the option that limits them.
  const char* take(const Address& address);
  void give_back(const Address& address);
  bool wait_for_none(Clock& clock, Nanoseconds patience);

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  const int limit_, limit_per_address_;  // the latter 0: none, and addresses are not counted
  int count_ RIDGE_GUARDED_BY(mutex_) = 0;
  std::map<Address, int> by_address_ RIDGE_GUARDED_BY(mutex_);
};

class IoThread {
 public:
  IoThread(const ServerOptions& options, Port& port, ConnectionCount& count, Warnings& warnings, size_t index);
  ~IoThread();  // cuts all connections off

  boost::asio::io_context& context() { return completions_->context; }

  // On this thread:
  // A connection that was taken from the count, by that address.
  void adopt(boost::asio::generic::stream_protocol::socket socket, const ConnectionCount::Address& address);
  void retire();
  void begin_drain();
  // Behind the events that are there already.
  void end_round_soon();
  // Called a few times a second.
  void on_tick(std::function<void()> call) { on_tick_ = std::move(call); }
  // Delivers the mailbox's content. Called at the end of every event.
  void run_completions();
  void flush_soon(uint64_t connection);  // when completions have been delivered
  void forget(uint64_t connection);
  // Work of a connection that its caller holds: without memory for it, the connection closes.
  template <typename Work>
  static void guarded(Connection& connection, Work work) {
    try {
      work();
    } catch (const std::bad_alloc&) {
      connection.close();
    }
  }
  void client_left() { client_left_ = true; }  // before its answer
  void client_left_now();                      // likewise, and its request is dropped soon

  const ServerOptions& options() const { return options_; }
  TimePoint now() const { return options_.clock->now(); }
  Warnings& warnings() { return warnings_; }
  BodyPool& bodies() { return bodies_; }
  // Where a connection may read to for the moment.
  std::span<std::byte> scratch();
  const std::shared_ptr<CompletionQueue>& mailbox() const { return completions_; }
  size_t index() const { return index_; }
  bool draining() const { return drain_began_ != TimePoint::max(); }
  TimePoint drain_began() const { return drain_began_; }
  bool keeps_connections() const { return !draining() && !retiring_; }

 private:
  struct Slot {
    std::shared_ptr<Connection> connection;
    ConnectionCount::Address address;
    uint32_t generation = 0;
  };

  void run();
  void flush();
  void deliver(Completion& completion);
  void tick();
  void close_all();
  std::shared_ptr<Connection> find(uint64_t id);
  template <typename Visit>
  void for_each_connection(Visit visit);

  const ServerOptions& options_;
  Port& port_;
  ConnectionCount& count_;
  Warnings& warnings_;
  size_t index_;
  std::shared_ptr<CompletionQueue> completions_;
  BodyPool bodies_;
  std::vector<std::byte> scratch_;
  boost::asio::steady_timer ticker_, dropper_;
  TimePoint tidy_at_{};
  std::function<void()> on_tick_;
  bool closed_ = false, ticks_ = false;  // ticks_: the next tick will come
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  TimePoint drain_began_ = TimePoint::max();
  bool retiring_ = false;
  bool client_left_ = false, drops_soon_ = false;
  bool round_ends_soon_ = false;
  std::vector<uint64_t> to_flush_;
  bool flush_all_ = false;  // there was no memory for one more in to_flush_
  std::jthread thread_;     // last: ends first
};

}  // namespace ridge::front::http
