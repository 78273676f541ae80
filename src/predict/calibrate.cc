#include "predict/calibrate.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/log.h"
#include "base/temporary_folder.h"
#include "base/utc.h"
#include "cost/costs.h"
#include "measure/operands.h"
#include "measure/runner.h"
#include "model/domains.h"
#include "model/optimised.h"
#include "predict/calibration_run.h"
#include "predict/held_out.h"
#include "predict/kernel_work.h"

namespace ridge::predict {
namespace {

constexpr int kWarmUpsPerPoint = 2;
constexpr int kPasses = 2;

Result<std::vector<TimedKernel>> profile(const CalibrateOptions& options, const ReadyModel& ready, int threads,
                                         const std::string& folder) {
  plan::Plan plan = calibration_plan(options.engine_library, ready.path, threads);
  plan.shapes = ready.shapes;
  plan.profile = true;
  plan.optimised_model = folder + "/optimised.onnx";
  RIDGE_ASSIGN(measure::Runner runner, measure::Runner::open(plan, &ready.graph, 1, 1, *options.clock));  // runs once
  RIDGE_TRY(run_for(runner, options.per_model, kWarmUpsPerPoint + options.least_runs, *options.clock));
  RIDGE_ASSIGN(std::vector<engine::NodeTime> times, runner.session(0).take_profile(kWarmUpsPerPoint));
  RIDGE_ASSIGN(model::Graph optimised, model::read_optimised(plan.optimised_model));
  return timed_kernels(times, optimised);
}

// One model, timed.
struct TimedModel {
  CalibrationSample sample;
  std::vector<TimedKernel> kernels;
};

Result<TimedModel> time_model(const CalibrateOptions& options, const CalibrationModel& model, int threads) {
  RIDGE_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  RIDGE_ASSIGN(ReadyModel ready, prepare(model, folder.path()));
  TimedModel timed;
  timed.sample.model = model.name;
  {
    plan::Plan plan = calibration_plan(options.engine_library, ready.path, threads);
    plan.shapes = ready.shapes;
    RIDGE_ASSIGN(measure::Runner runner, measure::Runner::open(plan, &ready.graph, 1, 1, *options.clock));
    RIDGE_TRY(run_for(runner, options.per_model / 8, kWarmUpsPerPoint, *options.clock));
    RIDGE_ASSIGN(std::vector<double> us, run_for(runner, options.per_model, options.least_runs, *options.clock));
    timed.sample.runs = static_cast<int>(us.size());
    timed.sample.run_us = middle_mean(std::move(us), timed.sample.spread_percent);
  }
  RIDGE_ASSIGN(timed.kernels, profile(options, ready, threads, folder.path()));
  std::vector<Kernel> kernels;
  for (const TimedKernel& kernel : timed.kernels) kernels.push_back(kernel.kernel);
  timed.sample.footprint_bytes = footprint_of(kernels);
  return timed;
}

// Adds a model to a calibration.
void add(TimedModel timed, Calibration& calibration) {
  for (TimedKernel& kernel : timed.kernels) {
    kernel.sample = static_cast<int>(calibration.samples.size());
    calibration.kernels.push_back(std::move(kernel));
  }
  calibration.samples.push_back(std::move(timed.sample));
}

// The same model, timed again: a disturbance affects only one of them, so the lower figure counts. Branches may have run in
// another order; kernels are matched by name.
void improve(const TimedModel& again, int sample, Calibration& calibration) {
  CalibrationSample& kept = calibration.samples[static_cast<size_t>(sample)];
  if (again.sample.run_us < kept.run_us) kept = again.sample;
  std::map<std::pair<std::string, std::string>, double> by_name;
  for (const TimedKernel& timed : again.kernels)
    by_name.emplace(std::pair(timed.kernel.name, timed.kernel.op), timed.us);
  for (TimedKernel& kernel : calibration.kernels) {
    auto found = by_name.find({kernel.kernel.name, kernel.kernel.op});
    if (kernel.sample == sample && found != by_name.end()) kernel.us = std::min(kernel.us, found->second);
  }
}

// The channels per block of the engine's own layout: from the padding of 24 filters in the graph that it writes.
Result<int64_t> block_of(const CalibrateOptions& options) {
  RIDGE_ASSIGN(TemporaryFolder folder, TemporaryFolder::make());
  RIDGE_ASSIGN(ReadyModel ready, prepare({"probe", block_probe(), 1}, folder.path()));
  plan::Plan plan = calibration_plan(options.engine_library, ready.path, 1);
  plan.optimised_model = folder.path() + "/optimised.onnx";
  RIDGE_TRY(engine::open(plan));
  RIDGE_ASSIGN(model::Graph graph, model::read_optimised(plan.optimised_model));
  for (const model::Node& node : graph.nodes) {
    if (node.domain != model::kBlocked || node.op != "Conv" || node.inputs.size() < 2 || node.inputs[1] < 0) continue;
    const std::optional<Shape>& filters = graph.tensors[static_cast<size_t>(node.inputs[1])].shape;
    return filters && !filters->empty() && filters->front() == kProbeFilters ? 8 : 16;
  }
  return 0;
}

std::vector<int> thread_counts(const machine::Machine& machine, const CalibrateOptions& options) {
  if (!options.threads.empty()) return options.threads;
  const int all = machine::usable_threads(machine);
  return all > 1 ? std::vector<int>{1, all} : std::vector<int>{1};
}

Result<double> own_error(const machine::Machine& machine, const Calibration& calibration, int64_t block) {
  RIDGE_ASSIGN(cost::DeviceLimits one, cost::limits_of(machine, 1));
  RIDGE_ASSIGN(cost::DeviceLimits all, cost::limits_of(machine, calibration.threads));
  return held_out(calibration, kernel_device(one, all, block)).error;
}

bool interrupted(const CalibrateOptions& options) { return options.interrupted && options.interrupted(); }

// Twice over the whole suite, so that the two times of a model are minutes apart.
Result<std::vector<Calibration>> time_suite(const CalibrateOptions& options, const std::vector<int>& counts) {
  const std::vector<CalibrationModel> suite = calibration_suite();
  const double steps = static_cast<double>(kPasses * suite.size() * counts.size());
  std::vector<Calibration> calibrations(counts.size());
  double done = 0;
  for (int pass = 0; pass < kPasses; ++pass)
    for (size_t i = 0; i < counts.size(); ++i) {
      calibrations[i].threads = counts[i];
      for (size_t m = 0; m < suite.size(); ++m) {
        if (interrupted(options)) break;
        if (options.progress)
          options.progress(std::to_string(counts[i]) + (counts[i] == 1 ? " thread" : " threads"), done++ / steps);
        Result<TimedModel> timed = time_model(options, suite[m], counts[i]);
        if (!timed) return wrap(timed.error(), "calibration model '" + suite[m].name + "'");
        if (pass == 0)
          add(std::move(*timed), calibrations[i]);
        else if (m < calibrations[i].samples.size())
          improve(*timed, static_cast<int>(m), calibrations[i]);
      }
    }
  std::erase_if(calibrations, [&](const Calibration& c) { return 2 * c.samples.size() < suite.size(); });
  if (calibrations.empty())
    return Error{Code::kCancelled, "interrupted before half of the calibration was measured; nothing is stored"};
  return calibrations;
}

}  // namespace

std::vector<TimedKernel> timed_kernels(const std::vector<engine::NodeTime>& times, const model::Graph& optimised) {
  std::multimap<std::pair<std::string, std::string>, const model::Node*> index;
  for (const model::Node& node : optimised.nodes) index.emplace(std::pair(node.name, node.op), &node);
  std::vector<TimedKernel> kernels;
  for (const engine::NodeTime& time : times) {
    auto found = index.find({time.name, time.op});
    if (found == index.end() || time.calls != time.runs) continue;
    const model::Node& node = *found->second;
    index.erase(found);
    kernels.push_back(
        {{node.name, node.op, node.domain, node.attributes, measure::operands(optimised, node.inputs, time.inputs),
          measure::operands(optimised, node.outputs, time.outputs)},
         time.typical_us,
         0});
  }
  return kernels;
}

Result<Efficiency> calibrate(const machine::Machine& machine, const CalibrateOptions& options) {
  const TimePoint begin = options.clock->now();
  Efficiency efficiency;
  RIDGE_ASSIGN(engine::Info engine, engine::find_engine(calibration_plan(options.engine_library, "", 1)));
  efficiency.machine = machine.id;
  efficiency.engine = engine.name;
  efficiency.engine_version = engine.version;
  efficiency.measured_at = now_in_utc();
  RIDGE_ASSIGN(efficiency.block, block_of(options));
  machine::DisturbanceWatch watch;
  RIDGE_ASSIGN(efficiency.calibrations, time_suite(options, thread_counts(machine, options)));
  efficiency.disturbance = watch.end();
  for (Calibration& calibration : efficiency.calibrations) {
    RIDGE_ASSIGN(calibration.held_out_error, own_error(machine, calibration, efficiency.block));
  }
  efficiency.seconds = to_seconds(options.clock->now() - begin);
  return efficiency;
}

}  // namespace ridge::predict
