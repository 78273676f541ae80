// How the limits of CPUs and devices are measured. A metric is one quantity ("FP32 peak, 2 threads"); its kernel
// variants compete. Each runs in short bursts, round after round over all metrics, so that every metric is measured
// many times across the whole measurement, until none grows or the time is up; the best burst counts (limits/rates.h).
//
// Private to limits. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "limits/metric_result.h"

namespace ridge::limits {

struct Burst {
  double units = 0;  // FLOPs, bytes or starts
  double seconds = 0;
  double clock_hz = 0;  // 0 = not observable
};
// `count` bursts of `repeats` each, with their warm-up.
using RunBursts = std::function<Result<std::vector<Burst>>(int64_t repeats, int count)>;
// Runs one burst.
RunBursts one_by_one(std::function<Result<Burst>(int64_t repeats)> run);

struct TimeSpan {
  TimePoint begin, end;
};

// One variant of a metric, and its results so far.
struct KernelVariant {
  std::string conditions;
  std::function<std::string()> how;  // known only after a run; may be empty
  RunBursts run;
  // Checks the last burst's output: a compiler may have removed unread results. May be empty.
  std::function<Status()> check;
  int64_t most_repeats = INT64_MAX;            // in one burst
  int64_t repeats = 0;                         // 0 = chosen so that a burst has the right length
  int64_t working_set_bytes = 0;               // 0: none of its own
  std::vector<double> rates, clocks, seconds;  // of every burst
  std::vector<TimeSpan> visits;                // by the host's clock
  bool dropped = false;                        // cannot win any more
};

struct Metric {
  std::string name;        // progress text
  bool sustained = false;  // the limit is a sustained rate: see sustained_rate()
  std::vector<KernelVariant> variants;
  std::string reason;  // why there are none

  double best_rate(const KernelVariant& variant) const;
  double best_rate() const;             // of the winner; 0: none has run
  const KernelVariant* winner() const;  // null: none has run
};

// A row of the report, and the metric that provides its result.
template <typename Row>
struct MetricOf {
  Row row;
  Metric metric;
};

struct RoundOptions {
  double most_seconds = 20;     // then metrics without any result get one visit each; preparation comes on top
  int least_rounds = 5;         // more only while a metric still grows
  double burst_seconds = 5e-3;  // long against a launch (10 µs; pocl: 50) and a device clock's resolution (1 µs)
  std::function<bool()> interrupted;                                         // may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

// Finds the repeats of a kernel for a burst of that length, and checks its results.
Status calibrate(KernelVariant& variant, double burst_seconds);

// A variant that fails or computes wrongly is dropped; if it was the last, its error is the metric's reason. Hopeless
// variants are dropped after the first rounds. Interrupted, the metrics keep their results.
void measure_in_rounds(const std::vector<Metric*>& metrics, const RoundOptions& options, const Clock& clock);

// The winner's; the caller adds utilisation and the GPU's conditions.
MetricResult result_of(const Metric& metric);

}  // namespace ridge::limits
