// The estimated real time on a device: calibration, estimate, and comparison with a run.
#include "app/plan_model.h"
#include "base/log.h"
#include "base/units.h"
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

// Why a calibration is not kept; empty if it may be.
std::string not_kept(const predict::Efficiency& efficiency, const PlanRequest& request) {
  if (request.keep_disturbed || !machine::disturbed(efficiency.disturbance)) return "";
  return machine::sentence(*efficiency.disturbance) +
         ": the calibration measured meanwhile is not kept; repeat it when the machine is quiet, or give "
         "--keep-disturbed";
}

struct Calibrated {
  predict::Efficiency efficiency;
  std::string not_kept = {};  // the reason; empty: it is in the store
};
Result<Calibrated> calibrate_machine(const machine::Machine& machine, const PlanRequest& request,
                                     const PlanControl& control) {
  const std::string folder = predict::default_calibration_folder();
  if (!request.fresh) {
    if (auto known = predict::recall_calibration(folder, machine.id)) {
      control.calibrated(*known, "");
      return Calibrated{std::move(*known)};
    }
  }
  RIDGE_ASSIGN(predict::Efficiency efficiency, run_calibration(machine, control));
  if (std::string reason = not_kept(efficiency, request); !reason.empty())
    return Calibrated{std::move(efficiency), std::move(reason)};
  RIDGE_ASSIGN(const std::string path, predict::keep_calibration(folder, efficiency));
  control.calibrated(efficiency, path);
  return Calibrated{std::move(efficiency)};
}

void warn_of_spread(const predict::Efficiency& efficiency) {
  if (const double spread = predict::spread_percent(efficiency); spread > machine::kMostSpreadPercent)
    log::warning(
        "the calibration of {} is uncertain: the runs of a model spread by {}; repeat it when the machine is quiet: "
        "ridge plan --calibrate --fresh",
        efficiency.measured_at, format_percent(spread));
}

}  // namespace

Status calibrate(const PlanRequest& request, const PlanControl& control) {
  RIDGE_ASSIGN(const PlanDevice device, know_device(request, control));
  if (!device.machine)
    return Error{Code::kInvalid, "--calibrate measures this machine; a device of the catalogue is not here"};
  RIDGE_ASSIGN(const Calibrated calibrated, calibrate_machine(*device.machine, request, control));
  warn_of_spread(calibrated.efficiency);
  return calibrated.not_kept.empty() ? ok_status() : Status(Error{Code::kFailed, calibrated.not_kept});
}

Result<std::optional<predict::Efficiency>> known_efficiency(const PlannedModel& model) {
  const machine::Machine& machine = *model.device.machine;
  std::optional<predict::Efficiency> known;
  if (model.request.calibrate) {
    RIDGE_ASSIGN(Calibrated calibrated, calibrate_machine(machine, model.request, model.control));
    if (!calibrated.not_kept.empty()) log::warning("{}", calibrated.not_kept);
    known = std::move(calibrated.efficiency);
  } else {
    known = predict::recall_calibration(predict::default_calibration_folder(), machine.id);
  }
  if (known) warn_of_spread(*known);
  return known;
}

std::vector<predict::Verification> known_ledger(const predict::Efficiency& efficiency) {
  return predict::read_ledger(ledger_of(efficiency.machine));
}

bool can_be_estimated(const PlannedModel& model) {
  return model.efficiency && model.request.precision == Precision::kFp32;
}

Result<std::optional<predict::Estimate>> estimate_of(const PlannedModel& model, const model::Graph& graph,
                                                     double bound_ms) {
  if (!can_be_estimated(model)) return std::optional<predict::Estimate>();
  RIDGE_ASSIGN(
      predict::Estimate estimate,
      predict::estimate(graph, *model.efficiency, *model.device.machine,
                        {.threads = model.plan.threads,
                         .instances = model.request.instances,
                         .rows = rows_of(graph),
                         .bound_ms = bound_ms,
                         .seen_error = predict::ledger_error(model.ledger, model.efficiency->engine_version)}));
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

}  // namespace ridge::app
