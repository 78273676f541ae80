#include "tune/contest.h"
#include "precision/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "measure/inputs.h"
#include "measure/load.h"
#include "measure/resident.h"
#include "measure/runner.h"
#include "measure/statistics.h"
#include "tune/turns.h"

namespace ridge::tune {
namespace {

// Rows run together must equal rows run alone to this relative L2; kernels differ with the batch in the last bits only.
constexpr double kSameRows = 1e-3;

// Counters that move in such steps are read without a wait: a slice is 60 of them.
constexpr double kBriefStepMs = 1;

// What one side did in one slice.
struct Slice {
  measure::LoadResult load;
  double rows_per_s = 0;
  double joules_per_row = 0;  // 0 = not measured
};

// Reads the counters; a failure, or none, is not measured.
double joules_of(machine::EnergyMeter* meter) {
  if (meter == nullptr) return 0;
  Result<double> joules = meter->joules();
  return joules ? *joules : 0;
}

// Every session of the runner runs again and again for about `ms`, at least once.
Result<Slice> run_slice(measure::Runner& runner, int callers, double ms, const std::function<bool()>& interrupted) {
  measure::LoadOptions options;
  options.concurrency = callers;
  options.stop.min_samples = std::numeric_limits<int64_t>::max();  // time alone ends a slice
  options.stop.max_time = from_seconds(ms / 1e3);
  options.interrupted = interrupted;
  const int64_t resident_before = measure::resident_bytes();
  RIDGE_ASSIGN(measure::LoadResult load, measure::run_load(runner.target(), options, system_clock()));
  runner.note_growth(measure::resident_bytes() - resident_before);
  if (load.interrupted || load.latencies_ms.empty()) return Error{Code::kCancelled, "interrupted"};
  double rate = load.rate_per_s * static_cast<double>(runner.rows());
  return Slice{std::move(load), rate, 0};
}

// One side of a trial while it is measured.
struct Player {
  measure::Runner& runner;
  int callers = 1;
  double slice_ms = 0;
  machine::EnergyMeter* energy = nullptr;
  double settle_ms = 0;  // uncounted, before a slice: until the counters have counted what was before
  std::vector<double> latencies_ms;
  std::vector<double> rates;
  std::vector<double> energies;  // [J/row] per slice
  measure::Stages times_ms;      // sums over the runs

  Result<Slice> play(const std::function<bool()>& interrupted) {
    if (settle_ms > 0) {
      RIDGE_ASSIGN([[maybe_unused]] const Slice settled, run_slice(runner, callers, settle_ms, interrupted));
    }
    const double joules_before = joules_of(energy);
    RIDGE_ASSIGN(Slice slice, run_slice(runner, callers, slice_ms, interrupted));
    const measure::LoadResult& load = slice.load;
    const double rows = static_cast<double>(load.latencies_ms.size()) * static_cast<double>(runner.rows());
    slice.joules_per_row = std::max(0.0, joules_of(energy) - joules_before) / rows;
    energies.push_back(slice.joules_per_row);
    latencies_ms.insert(latencies_ms.end(), load.latencies_ms.begin(), load.latencies_ms.end());
    rates.push_back(slice.rows_per_s);
    double runs = static_cast<double>(load.latencies_ms.size());
    times_ms.input += runs * to_ms(load.mean_times.input);
    times_ms.compute += runs * to_ms(load.mean_times.compute);
    times_ms.output += runs * to_ms(load.mean_times.output);
    return slice;
  }

  Side side() {
    Side side = side_of(runner, latencies_ms, measure::mean(rates), times_ms);
    side.joules_per_row = measure::mean(energies);
    return side;
  }
};

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

// Strings have no fixed size per row; models with them are run row by row.
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
  if (has_strings(signature)) return "tensors of strings have no rows of equal size";
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

struct Contest::State {
  plan::Plan base;
  const model::Graph* graph;
  ContestOptions options;
  measure::Runner baseline;
  std::vector<Implementation> implementations = {};
  bool baseline_first = true;  // which side begins the next pair

  Result<measure::Runner> open(const Candidate& candidate) const {
    return measure::Runner::open(to_plan(candidate, base, implementations), graph, candidate.instances, options.seed);
  }
  Status play_pair(Player& own, Player& other, Trial& trial);
};

Contest::Contest(std::unique_ptr<State> state) : state_(std::move(state)) {}
Contest::~Contest() = default;

Result<std::unique_ptr<Contest>> Contest::open(const plan::Plan& base, const model::Graph* graph,
                                               ContestOptions options) {
  plan::Plan untuned = to_plan(baseline_candidate(), base);
  RIDGE_ASSIGN(measure::Runner baseline, measure::Runner::open(untuned, graph, 1, options.seed));
  return std::unique_ptr<Contest>(
      new Contest(std::make_unique<State>(State{base, graph, std::move(options), std::move(baseline)})));
}

void Contest::admit(std::vector<Implementation> implementations) {
  state_->implementations = std::move(implementations);
}

const engine::Signature& Contest::signature() const { return state_->baseline.session(0).signature(); }
const engine::Info& Contest::info() const { return state_->baseline.session(0).info(); }

Batching Contest::check_batching() {
  std::string fixed = fixed_by_signature(signature());
  if (!fixed.empty()) return {false, fixed};
  Candidate pair = baseline_candidate();
  pair.batch = 2;
  Result<precision::Drift> apart = drift(pair);
  if (!apart) return {false, "the model fails at batch 2 (" + apart.error().message + ")"};
  if (!(apart->relative_l2 <= kSameRows))  // also not a number
    return {false,
            fmt::format("rows run together differ from rows run alone (relative L2 {:.2g})", apart->relative_l2)};
  return {true, ""};
}

Result<precision::Drift> Contest::drift(const Candidate& candidate) {
  State& state = *state_;
  plan::Plan plan = to_plan(candidate, state.base, state.implementations);
  plan.instances = 1;
  RIDGE_ASSIGN(measure::Runner runner, measure::Runner::open(plan, state.graph, 1, state.options.seed));
  RIDGE_ASSIGN(std::vector<Tensor> tensors,
               measure::make_inputs(signature(), plan.shapes, state.graph, state.options.seed));
  std::vector<TensorView> inputs = precision::views_of(tensors);
  RIDGE_ASSIGN(std::vector<engine::Output> together, run_once(runner, inputs));
  std::vector<TensorView> outputs = output_views(together);
  precision::DriftMeter meter;
  auto compare = [&](std::span<const TensorView> row_inputs, std::span<const TensorView> found) -> Status {
    RIDGE_ASSIGN(std::vector<engine::Output> alone, run_once(state.baseline, row_inputs));
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
  for (int64_t row = 0; row < candidate.batch; ++row)
    RIDGE_TRY(compare(rows_of(inputs, row, 1), rows_of(outputs, row, 1)));
  return meter.result();
}

// One slice of each side. An error of the candidate's goes to trial.failure.
Status Contest::State::play_pair(Player& own, Player& other, Trial& trial) {
  Slice mine, theirs;
  for (bool untuned : {baseline_first, !baseline_first}) {
    Result<Slice> slice = (untuned ? other : own).play(options.interrupted);
    if (!slice && untuned) return wrap(slice.error(), "the untuned baseline");
    if (!slice && slice.error().code == Code::kCancelled) return slice.error();
    if (!slice) {
      trial.failure = slice.error().message;
      return {};
    }
    (untuned ? theirs : mine) = std::move(slice).value();
  }
  baseline_first = !baseline_first;
  trial.rate_log_ratios.push_back(std::log(mine.rows_per_s / theirs.rows_per_s));
  trial.latency_log_ratios.push_back(
      std::log(measure::median(theirs.load.latencies_ms) / measure::median(mine.load.latencies_ms)));
  if (mine.joules_per_row > 0 && theirs.joules_per_row > 0)
    trial.energy_log_ratios.push_back(std::log(theirs.joules_per_row / mine.joules_per_row));
  return {};
}

Result<Trial> Contest::measure(const Candidate& candidate, Effort effort) {
  State& state = *state_;
  const TimePoint begin = SteadyClock::now();
  Trial trial;
  auto finished = [&](std::string failure) {
    trial.failure = std::move(failure);
    trial.seconds = to_seconds(SteadyClock::now() - begin);
    return trial;
  };
  Result<measure::Runner> runner = state.open(candidate);
  if (!runner) return finished(runner.error().message);
  machine::EnergyMeter* const energy = state.options.energy;
  const double step_ms = energy == nullptr ? 0 : 1e3 * energy->step_seconds();
  const double least_ms = std::max(to_ms(state.options.slice), machine::kLeastEnergySteps * step_ms);
  const double settle_ms = step_ms > kBriefStepMs ? step_ms : 0;
  Player own{*runner, candidate.instances, least_ms / 2, energy, settle_ms, {}, {}, {}, {}};
  Player other{state.baseline, 1, least_ms, energy, settle_ms, {}, {}, {}, {}};

  double run_ms = runner->first_run_ms();
  if (run_ms < kSlowRunMs) {
    Result<Slice> warm = run_slice(*runner, own.callers, own.slice_ms, state.options.interrupted);
    if (!warm && warm.error().code == Code::kCancelled) return warm.error();
    if (!warm) return finished(warm.error().message);
    run_ms = measure::median(warm->load.latencies_ms);
  }
  own.slice_ms = slice_ms(run_ms, candidate.instances, least_ms);
  other.slice_ms = untuned_slice_ms(own.slice_ms, least_ms);
  const Extent extent = extent_of(effort);
  const TimePoint end = begin + from_seconds(extent.share * state.options.seconds);
  for (int pair = 0; pair < extent.pairs && (pair < extent.least_pairs || SteadyClock::now() < end); ++pair) {
    RIDGE_TRY(state.play_pair(own, other, trial));
    if (!trial.failure.empty()) return finished(trial.failure);
  }
  trial.candidate = own.side();
  trial.baseline = other.side();
  return finished("");
}

}  // namespace ridge::tune
