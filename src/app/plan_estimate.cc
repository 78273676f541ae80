// The estimated real time on a device: calibration, estimate, and comparison with a run.
#include "app/plan_model.h"
#include "model/inputs.h"
#include "predict/calibrate.h"
#include "predict/calibration_store.h"

namespace ridge::app {
namespace {

std::string ledger_of(const std::string& machine) {
  return predict::ledger_file(predict::default_calibration_folder(), machine);
}

Result<predict::Efficiency> run_calibration(const machine::Machine& machine, const PlanControl& control) {
  const RunControl phase = control.begin(PlanPhase::kCalibration);
  predict::CalibrateOptions options;
  options.interrupted = phase.interrupted;
  options.progress = phase.progress;
  return predict::calibrate(machine, options);
}

Status calibrate_machine(const machine::Machine& machine, bool fresh, const PlanControl& control) {
  const std::string folder = predict::default_calibration_folder();
  if (!fresh) {
    if (const auto known = predict::recall_calibration(folder, machine.id)) {
      control.calibrated(*known, "");
      return {};
    }
  }
  RIDGE_ASSIGN(const predict::Efficiency efficiency, run_calibration(machine, control));
  RIDGE_ASSIGN(const std::string path, predict::keep_calibration(folder, efficiency));
  control.calibrated(efficiency, path);
  return {};
}

// The relative error from the ledger of verified predictions, if it holds enough of them.
std::optional<double> seen_error(const predict::Efficiency& efficiency) {
  return predict::ledger_error(predict::read_ledger(ledger_of(efficiency.machine)), efficiency.engine_version);
}

}  // namespace

Status calibrate(const PlanRequest& request, const PlanControl& control) {
  RIDGE_ASSIGN(const PlanDevice device, know_device(request, control));
  if (!device.machine)
    return Error{Code::kInvalid, "--calibrate measures this machine; a device of the catalogue is not here"};
  return calibrate_machine(*device.machine, request.fresh, control);
}

Result<std::optional<predict::Efficiency>> known_efficiency(const PlannedModel& model) {
  const machine::Machine& machine = *model.device.machine;
  if (model.request.calibrate) RIDGE_TRY(calibrate_machine(machine, model.request.fresh, model.control));
  return predict::recall_calibration(predict::default_calibration_folder(), machine.id);
}

bool can_be_estimated(const PlannedModel& model) {
  return model.efficiency && model.request.precision == Precision::kFp32;
}

Result<std::optional<predict::Estimate>> estimate_of(const PlannedModel& model, const model::Graph& graph,
                                                     double bound_ms) {
  if (!can_be_estimated(model)) return std::optional<predict::Estimate>();
  RIDGE_ASSIGN(predict::Estimate estimate, predict::estimate(graph, *model.efficiency, *model.device.machine,
                                                             {.threads = model.plan.threads,
                                                              .instances = model.request.instances,
                                                              .rows = rows_of(graph),
                                                              .bound_ms = bound_ms,
                                                              .seen_error = seen_error(*model.efficiency)}));
  return std::optional(std::move(estimate));
}

std::optional<predict::DeviceEstimate> carried_of(const PlannedModel& model, const cost::Costs& costs, int64_t rows) {
  if (!model.device.gpu) return std::nullopt;
  const Result<cost::DeviceLimits> limits = limits_of(model.device, 0, cost::Accumulate::kFp32);
  if (!limits || cost::bound(costs, *limits).ms <= 0) return std::nullopt;
  Result<predict::DeviceEstimate> carried =
      predict::estimate_on(*model.device.gpu, *limits, costs, model.request.precision, rows);
  return carried ? std::optional(std::move(*carried)) : std::nullopt;
}

Result<StoredVerification> verify(const PlannedModel& model, const std::optional<predict::Estimate>& estimate) {
  if (!estimate)
    return Error{
        Code::kInvalid,
        "--verify compares the estimate with a run, and there is no estimate: it needs this machine, calibrated "
        "(ridge plan --calibrate), and FP32"};
  if (model.request.instances > 1) return Error{Code::kInvalid, "--verify runs one instance; leave --instances out"};
  const RunControl phase = model.control.begin(PlanPhase::kVerification);
  phase.report("beside models of the calibration", 0);
  predict::VerifyOptions options;
  options.interrupted = phase.interrupted;
  RIDGE_ASSIGN(predict::Verification verified,
               predict::verify(model.plan, model.graph, *model.efficiency, estimate->ms, options));
  std::string file = ledger_of(verified.machine);
  RIDGE_TRY(predict::append_to_ledger(file, verified));
  return StoredVerification{std::move(verified), std::move(file)};
}

Json ledger_json(const predict::Efficiency& efficiency) {
  Json entries = Json::array();
  for (const predict::Verification& entry : predict::read_ledger(ledger_of(efficiency.machine)))
    entries.push_back(predict::to_json(entry));
  return entries;
}

}  // namespace ridge::app
