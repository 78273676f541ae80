// Server: a port over TCP or Unix sockets, plain or by TLS, whose connections speak HTTP/1.1 (Handler) or HTTP/2
// (StreamPort). Knows nothing of inference.
//
// N threads, each with its own event loop and its own connections; nothing is shared between them on the way of a
// request. Every state of a connection has a deadline, so
// that silent or slow clients go away and cost other clients nothing.
// start(), port(), begin_drain() and drain() from one thread; the destructor closes everything at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "front/http/message.h"
#include "front/listener.h"
#include "front/memory_budget.h"
#include "front/tls.h"

namespace ridge::front::http {

struct ServerOptions {
  std::string name = "http";  // in the log
  ListenOptions listen{.address = "0.0.0.0", .port = 8000};
  std::shared_ptr<Descriptor> passed = {};  // by the service manager, in place of the above; taken; null: none
  int threads = 1;
  int max_connections = 10'000;                     // one more is answered 503 and closed
  int max_connections_per_address = 0;              // per client address; 0: no limit
  uint32_t header_limit = 64 * 1024;                // [bytes] request line and fields
  std::shared_ptr<const Tls> tls = {};              // null: plain
  std::shared_ptr<MemoryBudget> memory = {};        // of all bodies together; beyond it: 503; null: any amount
  std::chrono::milliseconds idle_timeout{600'000};  // between requests
  std::chrono::milliseconds head_timeout{30'000};   // from a request's first byte to the end of its head
  // For bodies and answers: this long, plus the time that the bytes moved so far take at the slowest accepted rate.
  std::chrono::milliseconds stall_timeout{30'000};
  uint64_t slowest_bytes_per_s = 16 * 1024;
  std::chrono::milliseconds drain_timeout{5'000};  // of a transfer that does not move, once drain() has begun
  Clock* clock = &system_clock();                  // of deadlines, and of when a request arrived; outlives the server
};

class Server {
 public:
  // Binds, listens and answers from now on. kFailed: the port is taken, the address is not of this machine, …
  static Result<std::unique_ptr<Server>> start(ServerOptions options, std::shared_ptr<Port> port);
  ~Server();

  uint16_t port() const;            // 0: none, but a path
  const std::string& name() const;  // "0.0.0.0:8000", "unix:/run/ridge.sock"
  // True if every thread goes through its loop within that time.
  bool responds(std::chrono::milliseconds patience);
  // Makes every answer close its connection, and tells those of HTTP/2 to end; new connections are still accepted.
  void retire();
  // Stops accepting, closes idle connections at once, lets requests in progress finish, as long as their bytes move,
  // and closes their connections after the answer. Does not wait.
  void begin_drain();
  // Likewise; returns when all are gone or `patience` has passed (false: some were cut off).
  bool drain(std::chrono::milliseconds patience);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ridge::front::http
