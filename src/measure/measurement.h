// Measurement: the result of benchmarking a model, beside its limit. The `bench` JSON contract.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cost/costs.h"
#include "measure/energy.h"
#include "plan/plan.h"

namespace ridge::measure {

// Of a set of latencies [ms].
struct Latency {
  double mean = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, min = 0, max = 0;
};

struct Layer {
  std::string name;
  std::string op;
  double ms = 0;  // per run, by the engine's profile
  double flops = 0;
  double bytes = 0;
  double flops_per_s = 0;  // achieved
  double bytes_per_s = 0;
  double bound_ms = 0;
  double percent_of_limit = 0;  // 100 · bound / measured
  cost::Limiter limiter = cost::Limiter::kUnknown;
  bool has_rule = true;
  std::string kernel = {};  // what executed it, if the engine says: "brgconv_avx512_bf16"
};

struct Stages {     // [ms]
  double load = 0;  // open the session
  double first_run = 0;
  double input = 0;    // hand the inputs to the engine
  double compute = 0;  // inside the engine's run
  double output = 0;   // take the outputs
};

// What would help.
struct Advice {
  std::string id;  // limit-unknown, memory-limit, compute-limit, small-model, larger-batch, other-threads; stable
  std::string sentence;
};

struct Measurement {
  std::string model, engine, engine_version, device;
  Precision precision = Precision::kFp32;
  std::string
      executed;     // precisions that the engine says it runs in: "bf16 in 53 layers, f32 in 1"; empty: not reported
  int threads = 0;  // per instance, as they really run
  int instances = 1;    // sessions
  int concurrency = 1;  // callers with a request in flight
  int64_t batch = 1;
  Latency latency_ms;           // of one run (a batch)
  double throughput_per_s = 0;  // rows (items), not runs
  double ci95_percent = 0;      // half-width of the 95 % confidence interval of the mean latency
  int64_t samples = 0;
  bool converged = true;     // false: time ran out before the interval was narrow enough
  bool interrupted = false;  // ended by the user; the figures cover the time until then
  Stages stages_ms;
  double bound_ms = 0;  // of one run with `threads` threads
  double percent_of_limit = 0;
  cost::Limiter limiter = cost::Limiter::kUnknown;
  std::vector<cost::DeviceLimits::Basis> limits;  // for a GPU: the source of each limit
  std::vector<std::string> limit_notes;           // for a GPU: assumptions about them
  Energy energy;
  double flops = 0;             // of one run
  int64_t rss_delta_bytes = 0;  // resident memory of the process after the runs, less before opening
  std::vector<Layer> layers;    // empty unless asked for
  std::vector<std::string> without_rule;
  Advice advice;  // by measure/advice.h
};

Json to_json(const Measurement& measurement);
Result<Measurement> measurement_from_json(const Json& json);

}  // namespace ridge::measure
