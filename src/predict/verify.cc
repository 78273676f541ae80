#include "predict/verify.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/utc.h"
#include "measure/interleave.h"
#include "measure/statistics.h"
#include "predict/calibration_run.h"

namespace ridge::predict {
namespace {

constexpr size_t kReferences = 3;     // calibration models that run beside it
constexpr double kReferenceUs = 1e4;  // of about this length
constexpr int kRounds = 10;
constexpr double kTwoOfThree = 0.68;

// An open model of the suite, with its run time at calibration.
struct Reference {
  double then_us = 0;
  measure::Runner runner;
  std::vector<double> us = {};
};

const Calibration* nearest(const Efficiency& efficiency, int threads) {
  const Calibration* best = nullptr;
  for (const Calibration& calibration : efficiency.calibrations)
    if (best == nullptr || std::abs(calibration.threads - threads) < std::abs(best->threads - threads))
      best = &calibration;
  return best;
}

Result<std::vector<Reference>> open_references(const Calibration& calibration, const std::string& library,
                                               const std::string& folder, Clock& clock) {
  std::vector<CalibrationSample> samples = calibration.samples;
  std::sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) {
    return std::abs(std::log(a.run_us / kReferenceUs)) < std::abs(std::log(b.run_us / kReferenceUs));
  });
  std::map<std::string, const CalibrationModel*> by_name;
  const std::vector<CalibrationModel> suite = calibration_suite();
  for (const CalibrationModel& model : suite) by_name[model.name] = &model;
  std::vector<Reference> references;
  for (const CalibrationSample& sample : samples) {
    if (references.size() == kReferences) break;
    auto found = by_name.find(sample.model);
    if (found == by_name.end() || sample.run_us <= 0) continue;
    RIDGE_ASSIGN(ReadyModel ready, prepare(*found->second, folder + "/" + std::to_string(references.size())));
    plan::Plan plan = calibration_plan(library, ready.path, calibration.threads);
    plan.shapes = ready.shapes;
    RIDGE_ASSIGN(measure::Runner runner, measure::Runner::open(plan, &ready.graph, 1, 1, clock));
    references.push_back({sample.run_us, std::move(runner)});
  }
  return references;
}

// Runs for about a slice; appends the time of each run to `us`.
measure::Arm arm_of(const std::string& name, measure::Runner& runner, Nanoseconds slice, const Clock& clock,
                    std::vector<double>& us) {
  return {name, [&runner, slice, &clock, &us]() -> Result<std::vector<measure::Slice>> {
            RIDGE_TRY(run_for(runner, Nanoseconds(0), 1, clock));  // the previous slice left other data in the caches
            RIDGE_ASSIGN(const std::vector<double> more, run_for(runner, slice, 2, clock));
            us.insert(us.end(), more.begin(), more.end());
            return std::vector{measure::Slice{.rate = 1e6 / measure::mean(more)}};
          }};
}

std::tuple<std::string, int64_t, int> key_of(const Verification& v) { return {v.model, v.batch, v.threads}; }

}  // namespace

Result<Verification> verify(const plan::Plan& plan, const model::Graph& graph, const Efficiency& efficiency,
                            double predicted_ms, const VerifyOptions& options) {
  const Calibration* calibration = nearest(efficiency, plan.threads);
  if (calibration == nullptr)
    return Error{Code::kNotFound, "the machine is not calibrated, so there is no estimate to verify"};
  RIDGE_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  RIDGE_ASSIGN(std::vector<Reference> references,
               open_references(*calibration, plan.engine_library, folder.path(), *options.clock));
  RIDGE_ASSIGN(measure::Runner runner, measure::Runner::open(plan, &graph, 1, 1, *options.clock));
  std::vector<double> us;
  const Nanoseconds slice = options.max_time / kRounds;
  std::vector<measure::Arm> arms = {arm_of("the model", runner, slice * 7 / 10, *options.clock, us)};
  for (Reference& reference : references)
    arms.push_back(arm_of("a model of the calibration", reference.runner, slice / 10, *options.clock, reference.us));
  measure::InterleaveOptions how;
  how.stop = {.half_width_percent = 0, .max_samples = kRounds, .max_time = Nanoseconds::max()};
  how.interrupted = options.interrupted;
  const measure::InterleavedResult measured = measure::interleave(arms, how, *options.clock);
  if (measured.failed_arm) return wrap(measured.failure, arms[*measured.failed_arm].name);
  Verification result;
  result.machine = efficiency.machine;
  result.engine_version = efficiency.engine_version;
  result.model = std::filesystem::path(plan.model).filename().string();
  result.at = now_in_utc();
  result.batch = plan.batch;
  result.threads = plan.threads;
  result.predicted_ms = predicted_ms;
  result.runs = static_cast<int>(us.size());
  result.measured_ms = middle_mean(std::move(us), result.spread_percent) / 1e3;
  std::vector<double> ratios;
  for (const Reference& reference : references) ratios.push_back(measure::median(reference.us) / reference.then_us);
  if (!ratios.empty()) result.machine_change = measure::median(ratios);
  return result;
}

Json to_json(const Verification& verification) { return json_of(verification); }

std::string ledger_file(const std::string& folder, const std::string& machine_id) {
  return folder + "/" + machine_id + ".ledger.jsonl";
}

Status append_to_ledger(const std::string& file, const Verification& verification) {
  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), failure);
  std::ofstream ledger(file, std::ios::app);
  ledger << dump_json(to_json(verification)) + "\n" << std::flush;
  if (!ledger) return Error{Code::kFailed, "append to the ledger " + file + ": the file cannot be written"};
  return {};
}

std::vector<Verification> read_ledger(const std::string& file) {
  std::vector<Verification> ledger;
  Result<std::string> text = read_file(file);
  if (!text) return ledger;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    Result<Json> json = parse_json(line, "ledger");
    if (!json) continue;
    if (Result<Verification> entry = from_json<Verification>(*json)) ledger.push_back(std::move(*entry));
  }
  return ledger;
}

std::optional<double> ledger_error(const std::vector<Verification>& ledger, const std::string& engine_version) {
  std::map<std::tuple<std::string, int64_t, int>, double> newest;
  for (const Verification& v : ledger)
    if (v.engine_version == engine_version && std::abs(v.machine_change - 1) <= kMostChange)
      newest[key_of(v)] = std::abs(v.predicted_ms / v.measured_ms - 1);
  if (newest.size() < kLeastLedger) return std::nullopt;
  std::vector<double> errors;
  for (const auto& [key, error] : newest) errors.push_back(error);
  std::sort(errors.begin(), errors.end());
  return measure::percentile(errors, 100 * kTwoOfThree);
}

}  // namespace ridge::predict
