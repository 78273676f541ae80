// The plan before any search: ridge's choice for a model on a machine, from their descriptions alone. Pure: touches no
// file, clock or device.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cost/costs.h"
#include "machine/machine.h"
#include "plan/device.h"
#include "plan/plan.h"

namespace ridge::plan {

// The user's choices; the rest is decided.
struct PlanRequest {
  std::string model;
  std::map<std::string, Shape> shapes;  // of the inputs, all dimensions known
  int64_t batch = 1;
  std::optional<int> threads;
  Precision precision = Precision::kFp32;
  Device device = {};
};

// One instance with a thread per usable core (one if the model is too small to parallelise, and on another device,
// where the thread only launches work), bound_ms from the machine's limits if they were measured and the CPU is the
// device, and a reason for each decision.
Plan first_plan(const machine::Machine& machine, const cost::Costs& costs, const PlanRequest& request);

}  // namespace ridge::plan
