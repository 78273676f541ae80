// Target: the device that a model is tuned for. A plain value; the CPU by default.
#pragma once

#include <optional>
#include <string>

#include "cost/costs.h"
#include "plan/device.h"

namespace ridge::tune {

struct Target {
  plan::Device device;
  std::optional<cost::DeviceLimits> limits =
      {};                          // of a GPU; absent: not known, or the CPU, whose are machine::Machine's
  std::string limits_reason = {};  // why a GPU's are not known
  bool on_cpu() const { return device.kind == plan::DeviceKind::kCpu; }
};

}  // namespace ridge::tune
