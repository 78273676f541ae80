// What `ridge power sweep` runs under each limit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "power/power_control.h"
#include "power/sweep.h"

namespace ridge::cli {

struct WorkloadOptions {
  bool gemm = false;
  std::optional<int64_t> size;  // of the squares that it multiplies
  std::string model;
  int64_t batch = 1;
  std::string engine = plan::kUsualEngine, engine_library;
  std::vector<std::string> command;
};

// Ready to run on the device that `knob` limits. Errors: nothing or several things asked for (kInvalid), a model or device
// that cannot be opened.
Result<power::Workload> open_workload(const WorkloadOptions& options, const power::PowerControl& knob);

}  // namespace ridge::cli
