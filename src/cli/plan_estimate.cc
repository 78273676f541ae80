#include "cli/plan_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/interruption.h"
#include "cli/plan_study.h"
#include "cli/terminal.h"
#include "predict/calibrate.h"
#include "predict/calibration_store.h"
#include "predict/verify.h"

namespace ridge::cli {
namespace {

Status calibrate_machine(const machine::Machine& machine, bool fresh) {
  const std::string folder = predict::default_calibration_folder();
  if (!fresh) {
    if (auto known = predict::recall_calibration(folder, machine.id)) {
      say(fmt::format("this machine was calibrated {} with {} {}; --fresh does it again", known->measured_at,
                      known->engine, known->engine_version));
      return {};
    }
  }
  listen_for_interruption();
  predict::CalibrateOptions options;
  options.interrupted = interrupted;
  Result<predict::Efficiency> efficiency = [&] {
    Progress progress("calibrate this machine");
    options.progress = [&](const std::string& step, double share) { progress.update(step, share); };
    return predict::calibrate(machine, options);
  }();
  if (!efficiency) return efficiency.error();
  RIDGE_ASSIGN(std::string path, predict::keep_calibration(folder, *efficiency));
  std::string errors;
  for (const predict::Calibration& calibration : efficiency->calibrations)
    errors += fmt::format("; with {} thread{} two of three of its models are predicted within {}", calibration.threads,
                          calibration.threads == 1 ? "" : "s", format_percent(100 * calibration.held_out_error));
  say(fmt::format("calibrated in {:.0f} s{}; kept in {}", efficiency->seconds, errors, path));
  return {};
}

}  // namespace

Status calibrate_this_machine(const PlanRequest& request) {
  RIDGE_ASSIGN(PlanDevice device, know_device(request));
  if (!device.machine)
    return Error{Code::kInvalid, "--calibrate measures this machine; a device of the catalogue is not here"};
  return calibrate_machine(*device.machine, request.options.fresh);
}

Result<std::optional<predict::Efficiency>> known_efficiency(const machine::Machine& machine,
                                                            const PlanOptions& options) {
  if (options.calibrate) RIDGE_TRY(calibrate_machine(machine, options.fresh));
  return predict::recall_calibration(predict::default_calibration_folder(), machine.id);
}

std::optional<double> seen_error(const predict::Efficiency& efficiency) {
  const std::string file = predict::ledger_file(predict::default_calibration_folder(), efficiency.machine);
  return predict::ledger_error(predict::read_ledger(file), efficiency.engine_version);
}

Json ledger_json(const predict::Efficiency& efficiency) {
  Json entries = Json::array();
  const std::string file = predict::ledger_file(predict::default_calibration_folder(), efficiency.machine);
  for (const predict::Verification& entry : predict::read_ledger(file)) entries.push_back(predict::to_json(entry));
  return entries;
}

Result<Section> verify_section(const Study& study) {
  if (!study.estimate || !study.efficiency)
    return Error{
        Code::kInvalid,
        "--verify compares the estimate with a run, and there is no estimate: it needs this machine, calibrated "
        "(ridge plan --calibrate), and FP32"};
  if (study.request.options.instances > 1)
    return Error{Code::kInvalid, "--verify runs one instance; leave --instances out"};
  listen_for_interruption();
  predict::VerifyOptions options;
  options.interrupted = interrupted;
  Result<predict::Verification> verified = [&] {
    Progress progress("run the model");
    progress.update("beside models of the calibration", 0);
    return predict::verify(study.plan, study.graph, *study.efficiency, study.estimate->ms, options);
  }();
  if (!verified) return verified.error();
  const std::string file = predict::ledger_file(predict::default_calibration_folder(), verified->machine);
  RIDGE_TRY(predict::append_to_ledger(file, *verified));
  const double off = 100 * (verified->predicted_ms / verified->measured_ms - 1);
  Section section;
  section.members = {{"verified", predict::to_json(*verified)}};
  section.text = table(
      {},
      {{"measured", format_ms(verified->measured_ms),
        fmt::format("± {} between runs, {} runs (measured)", format_percent(verified->spread_percent), verified->runs)},
       {"predicted", format_ms(verified->predicted_ms),
        fmt::format("{:+.1f} % off; {} with the drift below", off,
                    format_ms(verified->predicted_ms * verified->drift))},
       {"drift", fmt::format("{:.3f}", verified->drift),
        "time of calibration models now over then: what the machine changed since (measured)"}},
      "lrl");
  section.text += "kept in " + file + "\n";
  return section;
}

std::vector<std::string> estimate_notes(const Study& study) {
  if (study.estimate) return study.estimate->notes;
  if (study.carried) return study.carried->evidence;
  if (!study.device.machine) return {};
  if (study.request.precision != Precision::kFp32)
    return {"no estimate: what was calibrated is FP32, as ONNX Runtime's CPU provider computes"};
  return {"no estimate: this machine is not calibrated; `ridge plan --calibrate` does it once, in two to four minutes"};
}

std::vector<std::vector<std::string>> estimate_rows(const predict::Estimate& e, double bound_ms) {
  const std::string share = e.ms > 0 ? format_percent(100 * bound_ms / e.ms) + " of the limit" : "";
  return {{"estimate", format_ms(e.ms),
           fmt::format("± {} expected; {} (derived from a calibration with {}, {})", format_percent(e.error_percent),
                       share, e.engine, e.measured_at)},
          {"will reach", fmt::format("{:.4g} items/s", e.throughput_per_s),
           e.instances == 1 ? "one instance" : fmt::format("{} instances together", e.instances)}};
}

std::vector<std::vector<std::string>> estimate_rows(const predict::DeviceEstimate& e, double bound_ms) {
  if (e.ms.likely <= 0) return {};
  return {{"estimate", format_ms(e.ms.likely),
           fmt::format("{} to {}; {} of the limit (carried over from devices measured in public)", format_ms(e.ms.fast),
                       format_ms(e.ms.slow), format_percent(100 * bound_ms / e.ms.likely))},
          {"may reach", fmt::format("{:.4g} items/s", e.throughput_per_s),
           fmt::format("computes {}, waits for memory {}, starts layers {} of the time",
                       format_percent(100 * e.held.compute), format_percent(100 * e.held.memory),
                       format_percent(100 * e.held.start))}};
}

std::string estimate_table(const predict::Estimate& estimate, int most) {
  std::vector<const predict::Estimate::Layer*> layers;
  for (const auto& layer : estimate.layers) layers.push_back(&layer);
  std::stable_sort(layers.begin(), layers.end(), [](const auto* a, const auto* b) { return a->ms > b->ms; });
  if (layers.size() > static_cast<size_t>(most)) layers.resize(static_cast<size_t>(most));
  std::vector<std::vector<std::string>> rows;
  for (const auto* layer : layers)
    rows.push_back({layer->name, layer->op, format_ms(layer->ms), format_percent(100 * layer->ms / estimate.ms),
                    "± " + format_percent(layer->error_percent) + (layer->known ? "" : ", a guess")});
  return table({"executed", "kernel", "estimate", "share", "expected error"}, rows, "llrrl");
}

void add_estimate(Json& json, const Study& study) {
  if (!study.estimate && !study.carried) return;
  const Json more = study.estimate ? to_json(*study.estimate) : to_json(*study.carried);
  for (auto member = more.begin(); member != more.end(); ++member) json[member.key()] = member.value();
}

}  // namespace ridge::cli
