// Tracer: which requests are traced, and the way of their traces to a collector.
//
// A request whose caller sends a W3C context is traced if the caller's flag says so; of the others one in `rate` is.
// Traces leave in batches by a thread of their own: no request waits for the collector. A fixed number may wait, others
// are dropped and counted, like those of a batch that the collector does not take.
// Thread-safe, but flush() is one thread's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bounded_thread.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "front/otlp.h"
#include "front/trace.h"

namespace ridge::front {

struct TraceOptions {
  std::string url = "";  // of the collector, for messages
  bool on = false;       // trace_level TIMESTAMPS; else OFF
  uint64_t rate = 1000;  // one request in `rate`
  int64_t count = -1;    // traces, then no more; -1: no limit
  ResourceAttributes resource = {{"service.name", "ridge"}};
  size_t most_waiting = 2048;                    // traces
  size_t most_in_batch = 512;                    // likewise
  std::chrono::milliseconds send_period{1'000};  // between batches
};

// A request's own data. Views, for one call.
struct TraceRequest {
  std::string_view protocol, model, parent, state;  // the latter two: fields traceparent and tracestate
  TimePoint arrived;
};

// Settings by the names of the protocols' trace extension: trace_level, trace_rate, trace_count, log_frequency,
// trace_file, trace_mode.
using TraceSettings = std::vector<std::pair<std::string, std::vector<std::string>>>;
// Absent: back to the server's own.
using TraceChanges = std::map<std::string, std::optional<std::vector<std::string>>>;

struct SpanCounts {
  uint64_t sent = 0, dropped = 0;
};

class Tracer {
 public:
  // Sends a body to the collector, and may take seconds. It owns what it uses: a tracer that ends does not wait.
  using Send = std::function<Status(const std::string& body)>;

  Tracer(TraceOptions options, Send send, Clock& clock = system_clock());
  ~Tracer() { close(kLastPatience); }

  // Sends what is left, once, within `patience` including a send under way. The rest is dropped.
  void close(Nanoseconds patience);
  static constexpr std::chrono::milliseconds kLastPatience{500};

  // Null: not traced.
  std::shared_ptr<Trace> begin(const TraceRequest& request);

  // Settings of a model, or of the server with an empty name.
  TraceSettings settings(const std::string& model) const;
  // All of them or, with an error, none.
  Status change(const std::string& model, const TraceChanges& changes);

  void flush();
  SpanCounts counts() const;

 private:
  // Absent in a model: the server's.
  struct Level {
    std::optional<bool> on;
    std::optional<uint64_t> rate;
    std::optional<int64_t> count;
    uint64_t seen = 0;  // requests without context, by the rate here
    int64_t taken = 0;  // traces, by the count here
  };
  struct Sender;

  const TraceOptions options_;
  Clock& clock_;
  const std::shared_ptr<Sender> sender_;
  mutable Mutex mutex_;
  Level server_ RIDGE_GUARDED_BY(mutex_);
  std::map<std::string, Level, std::less<>> models_ RIDGE_GUARDED_BY(mutex_);
  bool closed_ = false;
  BoundedThread thread_;
};

// Settings of a server that may have no tracer: then all is off, and says so.
TraceSettings trace_settings(const Tracer* tracer, const std::string& model);
Status change_trace_settings(Tracer* tracer, const std::string& model, const TraceChanges& changes);

}  // namespace ridge::front
