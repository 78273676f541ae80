// Calibration: runs the suite once through the real engine and times every kernel of it, so that plan/ can say how long any
// model will take. The engine's profile gives the times of kernels, runs without profiling what lies between them.
//
// Every figure is the mean of the middle half of its runs: what disturbs some runs does not count, and what is predicted
// is the run in between. The suite is gone through twice, and the lower of the two figures counts: a disturbance that lasts
// for seconds meets one of them. Takes one to two minutes per number of threads.
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
  std::vector<int> threads;  // that are measured, ascending; empty: 1 and all usable
  std::string engine_library;
  Nanoseconds per_model = std::chrono::milliseconds(250);  // per pass profiled, and as long again without
  int least_runs = 4;
  Clock* clock = &system_clock();
  std::function<bool()> interrupted;                                         // may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

// Interrupted, it returns what is complete: whole models, at least half of the suite for a number of threads; an error
// (kCancelled) if that is nothing. `machine` with its limits.
Result<Efficiency> calibrate(const machine::Machine& machine, const CalibrateOptions& options);

// The pure part: the kernels of a profile, with attributes and weights from the graph that the engine wrote. Nodes that are
// not in the graph, or inside loops, are left out.
std::vector<TimedKernel> timed_kernels(const std::vector<engine::NodeTime>& times, const model::Graph& optimised);

}  // namespace ridge::predict
