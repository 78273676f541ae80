// Measures a plan: opens it, warms it up, samples it until the mean is known well enough, and compares the result with
// the machine's limit.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cost/costs.h"
#include "machine/disturbance.h"
#include "machine/energy_meter.h"
#include "machine/machine.h"
#include "measure/arrival.h"
#include "measure/load.h"
#include "measure/measurement.h"
#include "model/graph.h"
#include "plan/plan.h"

namespace ridge::measure {

struct BenchOptions {
  int concurrency = 0;               // callers; 0 = one per instance
  std::optional<double> rate_per_s;  // requests; absent = closed loop
  Arrival arrival = Arrival::kConstant;
  Nanoseconds max_time = std::chrono::seconds(20);  // of all of it, as far as runs are shorter: measure/bench.cc
  double half_width_percent = 2;                    // of the mean latency, at 95 %
  std::optional<int64_t> runs;                      // ends after at least this many, however wide the interval is
  size_t warm_up_runs = 0;                          // at least
  bool layers = false;
  std::vector<TimedRun>* trace = nullptr;  // if given: filled in with the counted runs
  uint64_t seed = 1;
  std::optional<cost::DeviceLimits> device;    // of the device that all instances share, instead of the machine's
  machine::EnergyMeter* energy = nullptr;      // of the device; null: energy is not measured
  std::string energy_reason;                   // then: why
  machine::DisturbanceWatch* watch = nullptr;  // of this process; null: disturbance is not looked at
  std::function<bool()> interrupted;           // may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

// `graph` (with all shapes bound) and `machine` (measured) may be null: then the result has no limit to compare with.
// If interrupted, it returns what was measured so far.
Result<Measurement> bench(const plan::Plan& plan, const model::Graph* graph, const machine::Machine* machine,
                          const BenchOptions& options, Clock& clock = system_clock());

}  // namespace ridge::measure
