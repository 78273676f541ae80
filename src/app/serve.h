// The life of `ridge serve`: opens the ports, loads the repository, serves until a signal, and drains.
//
// An engine cannot be interrupted while it opens a model, and not always while it runs one. So loading and shutting
// down have own threads, while the caller's reads the clock and waits for a second signal. Prints nothing but the log.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "app/service_manager.h"
#include "app/trace_export.h"
#include "base/clock.h"
#include "base/result.h"
#include "front/access.h"
#include "front/access_log.h"
#include "front/client_policy.h"
#include "front/control.h"
#include "front/grpc/api.h"
#include "front/http/server.h"
#include "front/tls.h"
#include "serve/recorder.h"
#include "serve/server.h"
#include "telemetry/gpus.h"
#include "telemetry/host.h"

namespace ridge::app {

struct ServeRequest {
  serve::ServerOptions server;  // `cores`: those usable by this process; `recorder` follows from `record`
  std::optional<serve::RecordOptions> record;
  bool exit_on_error = false;  // a model that fails to load at start ends the server
  std::chrono::seconds exit_timeout{30};
  // Before the ports close, in which clients and load balancers turn elsewhere; absent: as drain_time() has it.
  std::optional<std::chrono::milliseconds> drain_time;

  bool allow_http = true, allow_metrics = true, allow_grpc = true;
  // Metrics address empty: same as HTTP; if that is a path, metrics are there alone.
  std::string http_address = "0.0.0.0", metrics_address;
  uint16_t http_port = 8000, metrics_port = 8002;  // 0: any free one; the same: metrics on HTTP's port alone
  int http_threads = 0;                            // 0: by the cores
  int http_max_connections = 10'000, http_max_connections_per_address = 0;  // 0: no limit
  std::chrono::milliseconds http_timeout{30'000}, idle_timeout{600'000};
  uint64_t max_input_bytes = uint64_t{64} << 20;
  uint64_t max_body_memory = 0;  // [bytes] of all requests' bodies together; 0: half of the memory for this process
  std::string grpc_address = "0.0.0.0";
  uint16_t grpc_port = 8001;           // 0: any free one
  int grpc_threads = 0;                // 0: by the cores
  front::grpc::ApiOptions grpc = {};   // what HTTP has, too, follows from the rest
  std::optional<front::TlsFiles> tls;  // for all ports; absent: plain
  std::string keys_file;               // empty: no call needs a key
  front::ClientPolicy shared_memory = front::ClientPolicy::kThisMachine;
  front::ClientPolicy model_control = front::ClientPolicy::kThisMachine;
  std::optional<TraceConfig> trace;                 // absent: no traces
  std::string access_log;                           // a file, or "-" for standard output; empty: none
  uint32_t unix_mode = 0660;                        // permissions of sockets with a path
  std::shared_ptr<ServiceManager> service_manager;  // null: none
  std::string port_file;                            // receives the ports as JSON; empty: none
};

// Where none is requested: 5 s at SIGTERM, with which services are stopped, if other machines reach a port, so that a
// load balancer may be in front; else none, for people at terminals and servers that only this machine reaches.
std::chrono::milliseconds drain_time(const ServeRequest& request, int signal);

struct ServeControl {
  std::function<int(Nanoseconds at_most)> next_signal;         // waits at most this long; 0: no signal
  std::function<void(const std::string& reasons)> not_loaded;  // with exit_on_error, before the end
  std::function<void()> loaded = [] {};                        // when the start's loading has ended, by another thread
  Clock* clock = &system_clock();
};

enum class ServeEnd {
  kDone,       // every accepted request was answered
  kNotLoaded,  // likewise, because a model could not be loaded
  kCutOff,  // likewise, but an engine was still opening or running a model at the end of exit_timeout, or was given up
  kUnanswered,  // exit_timeout ended before every request was answered
  kSignalled,   // a second signal
};

// run() once, from the constructing thread. After the last three outcomes threads still run, and the destructor waits
// for them: to end at once, exit the process without it.
class ServeRun {
 public:
  // Answers from now on, but is not ready. Errors: options, an unreadable repository, a port in use.
  static Result<std::unique_ptr<ServeRun>> open(ServeRequest request);
  ServeEnd run(const ServeControl& control);

  serve::Server& server() { return *server_; }
  uint16_t http_port() const { return http_ ? http_->port() : 0; }  // 0: not open
  uint16_t grpc_port() const { return grpc_ ? grpc_->port() : 0; }
  uint16_t metrics_port() const { return metrics_ ? metrics_->port() : 0; }

 private:
  explicit ServeRun(ServeRequest request) : request_(std::move(request)) {}
  Status check_passed() const;
  Status open_files();
  Status open_ports();
  Status open_grpc(std::shared_ptr<front::MemoryBudget> memory);
  front::http::ServerOptions listen_options(const char* name, const std::string& address, uint16_t port) const;
  Status write_port_file() const;
  void load();
  void log_loaded() const;
  bool has_metrics_port() const;
  std::shared_ptr<Descriptor> passed(const char* name) const;
  void tell_service_manager(const std::string& message) const;
  void start_watchdog(bool looks);
  void shut_down();
  ServeEnd wait_for_end(const ServeControl& control) const;

  ServeRequest request_;
  std::shared_ptr<front::Tls> tls_;               // null: plain
  std::shared_ptr<front::Keys> keys_;             // null: none
  std::shared_ptr<front::Tracer> tracer_;         // likewise
  std::shared_ptr<front::AccessLog> access_log_;  // likewise
  telemetry::HostSampler host_;
  std::optional<telemetry::GpuSampler> gpus_;
  std::unique_ptr<serve::Server> server_;
  std::unique_ptr<front::ControlThreads> control_threads_;      // outlives what takes calls
  std::unique_ptr<front::http::Server> http_, grpc_, metrics_;  // destroying one closes its port
  std::string example_host_, example_options_;                  // of a request that the log shows; empty: no HTTP
  std::string not_loaded_;                                      // written before failed_
  std::chrono::milliseconds drain_time_{};                      // of run()
  Clock* clock_ = &system_clock();                              // of run()
  TimePoint exit_by_{};                                         // the end of exit_timeout, on it
  bool hangs_ = false;                                          // a run that was given up still goes on; before ended_
  std::atomic<bool> failed_ = false;                            // a model failed to load, and this ends the server
  std::atomic<bool> answered_ = false;                          // every accepted request
  std::atomic<bool> ended_ = false;                             // and every thread
  std::jthread reloading_;                                      // of the files of TLS and keys
  std::jthread watchdog_;                                       // tells the service manager that the server is alive
  std::jthread loading_, stopper_;                              // last: they use the rest
};

}  // namespace ridge::app
