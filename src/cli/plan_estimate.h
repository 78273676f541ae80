// What `ridge plan` says about the time that a machine will really need: the estimate, if the machine was calibrated, and
// the calibration itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/plan_section.h"
#include "machine/machine.h"
#include "model/graph.h"
#include "predict/device_estimate.h"
#include "predict/estimate.h"

namespace ridge::cli {

struct Study;
struct PlanOptions;
struct PlanRequest;

// `ridge plan --calibrate` without a model: reads this machine and calibrates it.
Status calibrate_this_machine(const PlanRequest& request);

// What is known of `machine`; with --calibrate it is measured first (two to four minutes, with progress; kept; where is said
// on stderr), unless it is known and --fresh was not given.
Result<std::optional<predict::Efficiency>> known_efficiency(const machine::Machine& machine,
                                                            const PlanOptions& options);

// The relative error that the ledger of verified predictions shows, if it holds enough of them.
std::optional<double> seen_error(const predict::Efficiency& efficiency);

// What was predicted and measured on this machine so far, for the page.
Json ledger_json(const predict::Efficiency& efficiency);

// `--verify`: runs the model beside a few of the calibration's, and adds the comparison to the ledger.
Result<Section> verify_section(const Study& study);

// On what the estimate had to assume, or how to get one.
std::vector<std::string> estimate_notes(const Study& study);

// Rows for the summary: what, figure, explanation.
std::vector<std::vector<std::string>> estimate_rows(const predict::Estimate& estimate, double bound_ms);
std::vector<std::vector<std::string>> estimate_rows(const predict::DeviceEstimate& estimate, double bound_ms);
// The slowest kernels.
std::string estimate_table(const predict::Estimate& estimate, int most);
// Adds the members of the estimate, if there is one, to the forecast's JSON.
void add_estimate(Json& json, const Study& study);

}  // namespace ridge::cli
