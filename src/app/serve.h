// `ridge serve` from its ports to its end: opens them, loads the repository, serves until a signal comes, and drains.
//
// An engine can be interrupted neither while it opens a model nor while it runs one. So both the loading and the shutting down have a
// thread of their own, and the caller's looks at the clock and listens for a second signal. Prints nothing but the log.
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

#include "base/clock.h"
#include "base/result.h"
#include "front/http/server.h"
#include "front/region_policy.h"
#include "serve/recorder.h"
#include "serve/server.h"
#include "telemetry/gpus.h"
#include "telemetry/host.h"

namespace ridge::app {

struct ServeRequest {
  serve::ServerOptions server;  // `cores` are those that this process may use; `recorder` follows from `record`
  std::optional<serve::RecordOptions> record;
  bool exit_on_error = false;  // a model that cannot be loaded at start ends the server
  std::chrono::seconds exit_timeout{30};

  bool allow_http = true, allow_metrics = true;
  std::string http_address = "0.0.0.0", metrics_address;  // of metrics empty: as of HTTP
  uint16_t http_port = 8000, metrics_port = 8002;         // 0: any free one; the same: metrics on HTTP's port alone
  int http_threads = 0;                                   // 0: by the cores
  std::chrono::milliseconds http_timeout{30'000};
  uint64_t max_input_bytes = uint64_t{64} << 20;
  front::RegionPolicy shared_memory = front::RegionPolicy::kThisMachine;
  std::string port_file;  // gets the ports as JSON; empty: none
};

struct ServeControl {
  std::function<int(Nanoseconds at_most)> next_signal;         // waits at most so long; 0: none came
  std::function<void(const std::string& reasons)> not_loaded;  // with exit_on_error, before the end
  Clock* clock = &system_clock();
};

enum class ServeEnd {
  kDone,        // every accepted request was answered
  kNotLoaded,   // likewise, because a model could not be loaded
  kCutOff,      // likewise, but at the end of exit_timeout an engine still opened or ran a model
  kUnanswered,  // exit_timeout was over before every request was answered
  kSignalled,   // a second signal came
};

// run() once, from the thread that made it. After the last three ends threads still run, and the destructor waits for them: a process
// that is to end at once exits without it.
class ServeRun {
 public:
  // Answers from now on, but is not ready. Errors: options, a repository that cannot be read, a port that is taken.
  static Result<std::unique_ptr<ServeRun>> open(ServeRequest request);
  ServeEnd run(const ServeControl& control);

  serve::Server& server() { return *server_; }
  uint16_t http_port() const { return http_ ? http_->port() : 0; }  // 0: not open
  uint16_t metrics_port() const { return metrics_ ? metrics_->port() : 0; }

 private:
  explicit ServeRun(ServeRequest request) : request_(std::move(request)) {}
  Status open_ports();
  Status write_port_file() const;
  void load();
  void shut_down();
  ServeEnd wait_for_end(const ServeControl& control) const;

  ServeRequest request_;
  telemetry::HostSampler host_;
  std::optional<telemetry::GpuSampler> gpus_;
  std::unique_ptr<serve::Server> server_;
  std::unique_ptr<front::http::Server> http_, metrics_;  // destroying one closes its port
  std::string not_loaded_;                               // written before failed_
  std::atomic<bool> failed_ = false;                     // a model could not be loaded, and that is to end the server
  std::atomic<bool> answered_ = false;                   // every request that was accepted
  std::atomic<bool> ended_ = false;                      // and every thread
  std::jthread loading_, stopper_;                       // last: they use the rest
};

}  // namespace ridge::app
