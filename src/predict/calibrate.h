// Calibration: runs the suite through the real engine and times every kernel, so that the time of any model can be predicted.
// The engine's profile gives kernel times, runs without profiling the time between kernels.
//
// Every figure is the mean of the middle half of its runs: disturbances of some runs do not count, and predictions are for the
// typical run. The suite runs twice, and the lower figure counts: a disturbance of seconds affects one of them. Takes one to
// two minutes per number of threads.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/engine.h"
#include "machine/machine.h"
#include "model/graph.h"
#include "predict/calibration_suite.h"
#include "predict/efficiency.h"

namespace ridge::predict {

struct CalibrateOptions {
  std::vector<int> threads;  // to measure, ascending; empty: 1 and all usable
  std::string engine_library;
  Nanoseconds per_model = std::chrono::milliseconds(250);  // per profiled pass, and as long again without
  int least_runs = 4;
  Clock* clock = &system_clock();
  std::function<bool()> interrupted;                                         // may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

// Interrupted, it returns what is complete: whole models, at least half of the suite for a number of threads; else an error
// (kCancelled). `machine` with its limits.
Result<Efficiency> calibrate(const machine::Machine& machine, const CalibrateOptions& options);

// The pure part: the kernels of a profile, with attributes and weights from the engine's graph. Nodes missing from the graph,
// or inside loops, are left out.
std::vector<TimedKernel> timed_kernels(const std::vector<engine::NodeTime>& times, const model::Graph& optimised);

}  // namespace ridge::predict
