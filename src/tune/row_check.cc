#include "tune/row_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/run_limit.h"
#include "measure/inputs.h"
#include "measure/joint_rows.h"
#include "measure/runner.h"
#include "precision/samples.h"

namespace ridge::tune {
namespace {

// Rows [first, first + count) of tensors whose first dimension is rows.
std::vector<TensorView> rows_of(std::span<const TensorView> tensors, int64_t first, int64_t count) {
  std::vector<TensorView> result;
  for (TensorView view : tensors) {
    size_t row_bytes = view.data.size() / static_cast<size_t>(std::max<int64_t>(view.shape[0], 1));
    view.data = view.data.subspan(static_cast<size_t>(first) * row_bytes, static_cast<size_t>(count) * row_bytes);
    view.shape[0] = count;
    result.push_back(view);
  }
  return result;
}

std::vector<TensorView> output_views(const std::vector<engine::Output>& outputs) {
  std::vector<TensorView> result;
  for (const engine::Output& output : outputs) result.push_back({output.type, output.shape, output.data});
  return result;
}

// Strings have no fixed size per row; models with them run row by row.
bool has_strings(const engine::Signature& signature) {
  auto text = [](const TensorSpec& spec) { return spec.type == DataType::kBytes; };
  return std::any_of(signature.inputs.begin(), signature.inputs.end(), text) ||
         std::any_of(signature.outputs.begin(), signature.outputs.end(), text);
}

// Why the signature alone rules out batching; empty = it does not.
std::string fixed_by_signature(const engine::Signature& signature) {
  auto fixed = [](const TensorSpec& spec) { return spec.shape.empty() || spec.shape[0] >= 0; };
  for (const TensorSpec& input : signature.inputs)
    if (fixed(input))
      return fmt::format("input '{}' has a fixed first dimension: {}", input.name, shape_text(input.shape));
  for (const TensorSpec& output : signature.outputs)
    if (fixed(output))
      return fmt::format("output '{}' has a fixed first dimension: {}", output.name, shape_text(output.shape));
  if (signature.inputs.empty()) return "the model has no inputs";
  if (has_strings(signature)) return "string tensors have no rows of equal size";
  return "";
}

// One run of one session; the engine allocates the outputs.
Result<std::vector<engine::Output>> run_once(measure::Runner& runner, std::span<const TensorView> inputs) {
  engine::Session& session = runner.session(0);
  std::vector<int> wanted(session.signature().outputs.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  std::vector<engine::Output> outputs(wanted.size());
  RIDGE_TRY(session.run(inputs, wanted, outputs));
  return outputs;
}

}  // namespace

Batching check_batching(InterleavedBenchmark& benchmark, const Candidate& candidate) {
  const BenchmarkedModel& model = benchmark.model();
  plan::Plan plan = to_plan(candidate, model.base, model.implementations);
  plan.instances = 1;
  plan.shapes.clear();
  const Result<std::unique_ptr<engine::Session>> session =
      engine::open_for(benchmark.options().seconds, plan, benchmark.clock());
  if (!session) return {false, session.error().message};
  const std::string fixed = fixed_by_signature((*session)->signature());
  if (!fixed.empty()) return {false, fixed};
  const Status joint = measure::check_joint_rows(
      **session, model.graph, {.precision = plan.precision, .shapes = model.base.shapes}, benchmark.clock());
  return joint ? Batching{true, ""} : Batching{false, joint.error().message};
}

Result<precision::Deviation> deviation(InterleavedBenchmark& benchmark, const Candidate& candidate) {
  const BenchmarkedModel& model = benchmark.model();
  const uint64_t seed = benchmark.options().seed;
  plan::Plan plan = to_plan(candidate, model.base, model.implementations);
  plan.instances = 1;
  RIDGE_ASSIGN(measure::Runner runner, measure::Runner::open(plan, model.graph, 1, seed, benchmark.clock()));
  RIDGE_ASSIGN(std::vector<Tensor> tensors,
               measure::make_inputs(runner.session(0).signature(), plan.shapes, model.graph, seed));
  std::vector<TensorView> inputs = precision::views_of(tensors);
  RIDGE_ASSIGN(std::vector<engine::Output> together, run_once(runner, inputs));
  std::vector<TensorView> outputs = output_views(together);
  precision::DeviationMeter meter;
  auto compare = [&](std::span<const TensorView> row_inputs, std::span<const TensorView> found) -> Status {
    RIDGE_ASSIGN(std::vector<engine::Output> alone, run_once(benchmark.untuned(), row_inputs));
    for (size_t i = 0; i < alone.size(); ++i)
      RIDGE_TRY(meter.add({alone[i].type, alone[i].shape, alone[i].data}, found[i]));
    return {};
  };
  if (candidate.batch == 1) {
    RIDGE_TRY(compare(inputs, outputs));
    return meter.result();
  }
  for (const TensorView& output : outputs)
    if (output.shape.empty() || output.shape[0] != candidate.batch)
      return Error{Code::kFailed,
                   fmt::format("{} rows in, an output of shape {} out", candidate.batch, shape_text(output.shape))};
  const int64_t rows = std::min(candidate.batch, kRowsAlone);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t row = i * (candidate.batch - 1) / (rows - 1);
    RIDGE_TRY(compare(rows_of(inputs, row, 1), rows_of(outputs, row, 1)));
  }
  return meter.result();
}

}  // namespace ridge::tune
