// `ridge power sweep` without options and text: opens a device and a workload, holds the device while the limits are
// swept, and restores it. Prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/run_control.h"
#include "base/result.h"
#include "plan/plan.h"
#include "power/power_control.h"
#include "power/sweep.h"

namespace ridge::app {

// The workload under each limit: one of GEMM, model and command.
struct WorkloadRequest {
  bool gemm = false;
  std::optional<int64_t> size;  // of the square factors
  std::string model;
  int64_t batch = 1;
  std::string engine = plan::kUsualEngine, engine_library;
  std::vector<std::string> command;
};

struct PowerSweepRequest {
  std::string device;  // empty: the only GPU
  std::optional<int64_t> from_mw, to_mw;
  int steps = 7;
  double seconds = 120;
  WorkloadRequest workload;
};

struct PowerSweepResult {
  power::Sweep sweep;
  Status restored;
};

// Starts a guard process first, so call it while there is one thread. `begin` is called when everything is ready; its
// value lives as long as the sweep. Errors: as of power::sweep(); what is asked for is nothing or several things
// (kInvalid), or cannot be opened. `clock` is everything's, so that of the RunControl does not matter.
Result<PowerSweepResult> sweep_power(const PowerSweepRequest& request, const std::function<RunControl()>& begin,
                                     Clock& clock = system_clock());

// Ready to run on the device that `power_control` limits. `interrupted` is polled while a command runs, and ends it; so
// does an hour. `clock` must outlive the workload.
Result<power::Workload> open_workload(const WorkloadRequest& request, const power::PowerControl& power_control,
                                      const std::function<bool()>& interrupted, Clock& clock);

}  // namespace ridge::app
