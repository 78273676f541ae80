#include "predict/calibration_run.h"

#include <algorithm>
#include <span>

#include "measure/statistics.h"
#include "model/reader.h"
#include "zoo/writer.h"

namespace ridge::predict {
namespace {

constexpr int kMostRuns = 400;  // of one model: enough for a mean of the middle half, and keeps profiles small

std::map<std::string, Shape> shapes_of(const zoo::Blueprint& blueprint, const model::Graph& graph) {
  std::map<std::string, Shape> shapes;
  for (size_t i = 0; i < blueprint.inputs.size() && i < graph.input_specs.size(); ++i)
    shapes[graph.input_specs[i].spec.name] = graph.input_specs[i].spec.shape;
  return shapes;
}

bool is_open(const zoo::Blueprint& blueprint) {
  return std::any_of(blueprint.inputs.begin(), blueprint.inputs.end(), [](const zoo::Port& input) {
    return !input.shape.empty() && std::holds_alternative<std::string>(input.shape.front());
  });
}

}  // namespace

plan::Plan calibration_plan(const std::string& engine_library, const std::string& path, int threads) {
  plan::Plan plan;
  plan.model = path;
  plan.engine_library = engine_library;
  plan.threads = threads;
  return plan;
}

Result<ReadyModel> prepare(const CalibrationModel& model, const std::string& folder) {
  ReadyModel ready;
  ready.path = folder + "/model.onnx";
  RIDGE_TRY(zoo::write(model.blueprint, 0, ready.path));
  model::Binding binding;
  if (is_open(model.blueprint)) binding.batch = model.batch;
  RIDGE_ASSIGN(ready.graph, model::read(ready.path, binding));
  ready.shapes = shapes_of(model.blueprint, ready.graph);
  return ready;
}

Result<std::vector<double>> run_for(measure::Runner& runner, Nanoseconds time, int least, const Clock& clock) {
  std::vector<double> us;
  const TimePoint end = clock.now() + time;
  while (static_cast<int>(us.size()) < least || (clock.now() < end && static_cast<int>(us.size()) < kMostRuns)) {
    const TimePoint begin = clock.now();
    RIDGE_TRY(runner.run(0, nullptr));
    us.push_back(1e3 * to_ms(clock.now() - begin));
  }
  return us;
}

double middle_mean(std::vector<double> values, double& spread_percent) {
  std::sort(values.begin(), values.end());
  const size_t quarter = values.size() / 4;
  const std::span<const double> middle(values.data() + quarter, values.size() - 2 * quarter);
  const double typical = measure::mean(middle);
  spread_percent = typical > 0 ? 50 * (middle.back() - middle.front()) / typical : 0;
  return typical;
}

}  // namespace ridge::predict
