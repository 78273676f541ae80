// Server: the Open Inference Protocol over gRPC (inference.GRPCInferenceService), with grpc.health.v1 and reflection.
//
// N threads, each with a completion queue of its own, decode requests and hand them to the Service; whoever has an answer sends it
// (call.h). Nothing of gRPC is visible here. start(), port(), begin_drain() and wait() from one thread; the destructor cuts
// everything off.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "front/access.h"
#include "front/access_log.h"
#include "front/client_policy.h"
#include "front/control.h"
#include "front/listener.h"
#include "front/memory_budget.h"
#include "front/tls.h"
#include "front/tracer.h"
#include "serve/service.h"

namespace ridge::front::grpc {

// Of answers, where the client accepts it.
enum class Compression : uint8_t { kNone, kLow, kMedium, kHigh };

struct ServerOptions {
  ListenOptions listen{.address = "0.0.0.0", .port = 8001};
  std::shared_ptr<Descriptor> passed = {};  // by the service manager, in place of the above; taken; null: none
  int threads = 1;
  std::string server_version = "0";
  int largest_message = std::numeric_limits<int32_t>::max();  // [bytes] as received
  uint64_t largest_unpacked = uint64_t{64} << 20;             // [bytes] of a compressed message, unpacked
  std::shared_ptr<MemoryBudget> memory = {};                  // of all requests together; null: any amount
  uint64_t transport_memory = 0;                    // [bytes] that messages may take while they arrive; 0: any amount
  int most_calls = 1024;                            // at the same time on one connection
  std::chrono::milliseconds idle_timeout{600'000};  // of a connection without calls
  std::chrono::milliseconds keepalive_time{
      7'200'000};  // after so long without data the client is asked for a sign of life
  std::chrono::milliseconds keepalive_timeout{20'000};                   // and given so long
  std::chrono::milliseconds connection_age{0}, connection_age_grace{0};  // 0: any
  std::chrono::milliseconds drain_timeout{5'000};  // of a transfer that does not end, once begin_drain() was called
  std::shared_ptr<const Tls> tls = {};             // null: plain
  std::chrono::milliseconds handshake_timeout{30'000};  // of TLS and of HTTP/2
  std::shared_ptr<const Keys> keys = {};                // null: no call needs one
  std::shared_ptr<AccessLog> access_log = {};           // null: none
  std::shared_ptr<Tracer> tracer = {};                  // null: no traces
  Compression compression = Compression::kNone;
  ClientPolicy shared_memory = ClientPolicy::kThisMachine;
  ClientPolicy model_control = ClientPolicy::kThisMachine;
  Clock* clock = &system_clock();  // of when a request arrived; outlives the server
};

class Server {
 public:
  // Binds, listens and answers from now on. The service and the threads must outlive it, the threads' jobs the service. kFailed: the
  // port is taken, the address is not of this machine, …
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, serve::Service& service,
                                               ControlThreads& control);
  ~Server();

  uint16_t port() const;            // 0: none, but a path
  const std::string& name() const;  // "0.0.0.0:8001", "unix:/run/ridge.sock"
  // Whether every thread goes through its loop within that time.
  bool responds(std::chrono::milliseconds patience);
  // Takes no new calls and no new requests of streams, lets those in progress finish, ends idle streams. Does not wait.
  void begin_drain();
  // After begin_drain(): until all calls have ended, or `patience` has passed (false).
  bool wait(std::chrono::milliseconds patience);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ridge::front::grpc
