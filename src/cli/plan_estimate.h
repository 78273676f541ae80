// What `ridge plan` says about the time that a machine will really need: the estimate, if the machine was calibrated, and
// the calibration itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "hw/machine.h"
#include "model/graph.h"
#include "plan/estimate.h"

namespace ridge::cli {

// Measures (1 to 4 minutes, with progress) and keeps the calibration of `machine`; says where on stderr. Unless `fresh`, a
// machine that is calibrated stays so.
Status calibrate_machine(const hw::Machine& machine, bool fresh);

// The estimate, or nothing if the machine is not calibrated: then a hint is printed on stderr, once.
Result<std::optional<plan::Estimate>> estimate_model(const model::Graph& graph, const hw::Machine& machine,
                                                     Precision precision, const plan::EstimateOptions& options);

// Rows for the summary: what, figure, explanation.
std::vector<std::vector<std::string>> estimate_rows(const plan::Estimate& estimate, double bound_ms);
// The slowest kernels.
std::string estimate_table(const plan::Estimate& estimate, int most);
// Adds the estimate's members to a forecast's JSON.
void add_estimate(Json& json, const plan::Estimate& estimate);

}  // namespace ridge::cli
