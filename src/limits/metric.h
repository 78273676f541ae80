// How the limits of CPUs and of devices are measured. A metric is one thing that is asked for ("FP32 peak, 2 threads"); its kernel
// variants compete. Each runs in short bursts, round after round among all metrics, so that every metric is measured many times
// spread over the whole measurement, until none grows any more or the time is up; the best burst counts (limits/rates.h).
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
  double clock_hz = 0;  // 0 = could not be observed
};
// `count` bursts of `repeats` each, with what must come before them.
using RunBursts = std::function<Result<std::vector<Burst>>(int64_t repeats, int count)>;
// Of what runs one burst.
RunBursts one_by_one(std::function<Result<Burst>(int64_t repeats)> run);

struct TimeSpan {
  TimePoint begin, end;
};

// One way of doing what the metric asks for, and what it has shown so far.
struct KernelVariant {
  std::string conditions;
  std::function<std::string()> how;  // what is known of it only once it has run; may be empty
  RunBursts run;
  // Compares what the last burst left with what must be there: a compiler may have removed what is never read. May be empty.
  std::function<Status()> check;
  int64_t most_repeats = INT64_MAX;            // in one burst
  int64_t repeats = 0;                         // 0 = to be found so that a burst takes as long as it should
  int64_t working_set_bytes = 0;               // 0: none of its own
  std::vector<double> rates, clocks, seconds;  // of every burst
  std::vector<TimeSpan> visits;                // by the host's clock
  bool dropped = false;                        // cannot win any more
};

struct Metric {
  std::string name;        // what progress says
  bool sustained = false;  // the limit is a rate that lasts: see sustained_rate()
  std::vector<KernelVariant> variants;
  std::string reason;  // why there are none

  double best_rate(const KernelVariant& variant) const;
  double best_rate() const;             // of the winner; 0: none has run
  const KernelVariant* winner() const;  // null: none has run
};

// A row of what is reported, and the metric that its result comes from.
template <typename Row>
struct MetricOf {
  Row row;
  Metric metric;
};

struct RoundOptions {
  double most_seconds = 20;  // making ready comes on top
  int least_rounds = 5;      // further ones only while a metric still grows
  double burst_seconds =
      5e-3;  // long against what a launch takes (10 µs; of pocl 50) and a device's clock resolves (1 µs)
  std::function<bool()> interrupted;                                         // may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

// Finds out how often a kernel must repeat in a burst of that length, and looks at what it computed.
Status calibrate(KernelVariant& variant, double burst_seconds);

// A variant that fails, or computes wrongly, competes no more; if it was the last, its error is the metric's reason. What cannot win
// is dropped after the first rounds. Interrupted, the metrics keep what they have.
void measure_in_rounds(const std::vector<Metric*>& metrics, const RoundOptions& options, const Clock& clock);

// The winner's; utilisation and the GPU's conditions are for the caller to add.
MetricResult result_of(const Metric& metric);

}  // namespace ridge::limits
