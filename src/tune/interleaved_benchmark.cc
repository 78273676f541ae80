#include "tune/interleaved_benchmark.h"

#include <algorithm>
#include <cmath>

#include "measure/interleave.h"
#include "measure/statistics.h"

namespace ridge::tune {
namespace {

// Counters with such steps are read without a wait: a slice is 60 of them.
constexpr double kBriefStepMs = 1;

// Reads the counters; a failure counts as not measured.
double joules_of(machine::EnergyMeter* meter) {
  if (meter == nullptr) return 0;
  const Result<double> joules = meter->joules();
  return joules ? *joules : 0;
}

// The workload in the slices of one arm, and its record.
class ArmRecord {
 public:
  ArmRecord(CoLocatedModels& models, const BenchmarkOptions& options, const Clock& clock, double slice_ms)
      : models_(models),
        options_(options),
        clock_(clock),
        slice_ms_(slice_ms),
        sums_(models.size()),
        sum_log_rates_(models.size()) {
    const double step_ms = options.energy == nullptr ? 0 : 1e3 * options.energy->step_seconds();
    if (step_ms > kBriefStepMs) settle_ms_ = step_ms;
  }

  Result<std::vector<measure::Slice>> run() {
    if (settle_ms_ > 0) RIDGE_TRY(models_.run_slice(settle_ms_, options_.interrupted));
    const TimePoint begin = clock_.now();
    const double joules_before = joules_of(options_.energy);
    RIDGE_ASSIGN(const std::vector<ModelSlice> now, models_.run_slice(slice_ms_, options_.interrupted, options_.watch));
    const double power_w = std::max(0.0, joules_of(options_.energy) - joules_before) / to_seconds(clock_.now() - begin);
    double rows_per_s = 0;
    for (const ModelSlice& slice : now) rows_per_s += slice.rows_per_s;
    joules_per_row_.push_back(power_w / rows_per_s);
    std::vector<measure::Slice> slices;
    for (size_t i = 0; i < now.size(); ++i) {
      add(sums_[i], now[i]);
      sum_log_rates_[i] += std::log(now[i].rows_per_s);
      const measure::Latency latency = measure::latency_of(now[i].latencies_ms);
      slices.push_back({now[i].rows_per_s, latency.p50, joules_per_row_.back(), latency.p99});
    }
    return slices;
  }

  Side side(size_t model) const {
    const ModelSlice& sum = sums_[model];
    measure::Runner& runner = models_.runner(model);
    Side side;
    const double runs = std::max(1.0, static_cast<double>(sum.latencies_ms.size()));
    side.latency_ms = measure::latency_of(sum.latencies_ms);
    side.rows_per_s =
        std::exp(sum_log_rates_[model] / static_cast<double>(std::max<size_t>(joules_per_row_.size(), 1)));
    side.ci95_percent = measure::half_width_percent(sum.latencies_ms, 0.95);
    if (!std::isfinite(side.ci95_percent)) side.ci95_percent = 100;
    side.latency_ci95_ms = measure::percentile_intervals(sum.latencies_ms);
    side.samples = static_cast<int64_t>(sum.latencies_ms.size());
    side.stages_ms = {runner.load_ms(), runner.first_run_ms(), sum.sums_ms.input / runs, sum.sums_ms.compute / runs,
                      sum.sums_ms.output / runs};
    const engine::Info& info = runner.session(0).info();
    side.engine = info.name;
    side.engine_version = info.version;
    side.device = info.device;
    side.threads = info.threads;
    side.joules_per_row = measure::mean(joules_per_row_);
    side.rss_delta_bytes = sums_.size() == 1 ? models_.rss_delta_bytes() : runner.rss_delta_bytes();
    return side;
  }

 private:
  static void add(ModelSlice& sum, const ModelSlice& slice) {
    sum.latencies_ms.insert(sum.latencies_ms.end(), slice.latencies_ms.begin(), slice.latencies_ms.end());
    sum.sums_ms.input += slice.sums_ms.input;
    sum.sums_ms.compute += slice.sums_ms.compute;
    sum.sums_ms.output += slice.sums_ms.output;
  }

  CoLocatedModels& models_;
  const BenchmarkOptions& options_;
  const Clock& clock_;
  double slice_ms_;
  double settle_ms_ = 0;          // uncounted, before a slice: until the counters have settled
  std::vector<ModelSlice> sums_;  // over the slices; but for the rates
  // Sums for rows/s: their geometric mean is the rate, so that two sides' ratio is the mean of the rounds' ratios.
  std::vector<double> sum_log_rates_;
  std::vector<double> joules_per_row_;  // of each slice
};

constexpr size_t kUntuned = 0, kCandidate = 1;  // the arms

void fill(CoLocatedTrial& trial, const std::vector<measure::Round>& rounds) {
  for (const measure::Round& round : rounds) {
    CoLocatedRound& rates = trial.rounds.emplace_back();
    for (const measure::Slice& slice : round[kCandidate]) rates.candidate.push_back(slice.rate);
    for (const measure::Slice& slice : round[kUntuned]) rates.untuned.push_back(slice.rate);
  }
  using measure::Slice;
  for (size_t i = 0; i < trial.models.size(); ++i) {
    for (const measure::Round& round : rounds) trial.models[i].rounds.add(round[kCandidate][i], round[kUntuned][i]);
    trial.models[i].rate_log_ratios = measure::log_ratios(rounds, kCandidate, kUntuned, i);
    trial.models[i].latency_log_ratios = measure::log_ratios(rounds, kUntuned, kCandidate, i, &Slice::p50_ms);
    trial.models[i].energy_log_ratios = measure::log_ratios(rounds, kUntuned, kCandidate, i, &Slice::energy_j);
  }
}

}  // namespace

Result<CoLocatedModels> open_models(std::span<const BenchmarkedModel> models, std::span<const Candidate> candidates,
                                    uint64_t seed, Clock& clock, double seconds) {
  std::vector<ModelToOpen> parts;
  for (size_t i = 0; i < models.size(); ++i)
    parts.push_back({to_plan(candidates[i], models[i].base, models[i].implementations), models[i].graph});
  return CoLocatedModels::open(parts, seed, clock, seconds);
}

InterleavedBenchmark::InterleavedBenchmark(std::vector<BenchmarkedModel> models, BenchmarkOptions options,
                                           CoLocatedModels untuned, Clock& clock)
    : models_(std::move(models)), options_(std::move(options)), clock_(clock), untuned_(std::move(untuned)) {}

Result<std::unique_ptr<InterleavedBenchmark>> InterleavedBenchmark::open(std::vector<BenchmarkedModel> models,
                                                                         BenchmarkOptions options, Clock& clock) {
  const std::vector<Candidate> defaults(models.size(), baseline_candidate());
  Result<CoLocatedModels> untuned = open_models(models, defaults, options.seed, clock, options.seconds);
  if (!untuned) return models.size() == 1 ? untuned.error() : wrap(untuned.error(), "the untuned models together");
  return std::unique_ptr<InterleavedBenchmark>(
      new InterleavedBenchmark(std::move(models), std::move(options), std::move(*untuned), clock));
}

void InterleavedBenchmark::admit(size_t model, std::vector<Implementation> implementations) {
  models_[model].implementations = std::move(implementations);
}

const char* InterleavedBenchmark::name_of_untuned() const {
  return models_.size() == 1 ? "the untuned baseline" : "the untuned models together";
}

// Run time of the slowest model, warm if runs are short.
Result<double> InterleavedBenchmark::typical_run_ms(CoLocatedModels& models, double warm_up_ms) {
  const double first_ms = models.slowest_first_run_ms();
  if (first_ms >= kSlowRunMs) return first_ms;
  RIDGE_ASSIGN(const std::vector<ModelSlice> warm, models.run_slice(warm_up_ms, options_.interrupted));
  double slowest_ms = 0;
  for (const ModelSlice& slice : warm) slowest_ms = std::max(slowest_ms, measure::median(slice.latencies_ms));
  return slowest_ms;
}

Result<CoLocatedTrial> InterleavedBenchmark::measure(std::span<const Candidate> candidates, Effort effort) {
  const TimePoint begin = clock_.now();
  CoLocatedTrial trial;
  trial.models.resize(models_.size());
  auto finished = [&](const std::string& failure) {
    trial.failure = failure;
    trial.seconds = to_seconds(clock_.now() - begin);
    return trial;
  };
  Result<CoLocatedModels> opened = open_models(models_, candidates, options_.seed, clock_, options_.seconds);
  if (!opened) return finished(opened.error().message);
  const double step_ms = options_.energy == nullptr ? 0 : 1e3 * options_.energy->step_seconds();
  const double least_ms = std::max(to_ms(options_.slice), machine::kLeastEnergySteps * step_ms);
  const Result<double> run_ms = typical_run_ms(*opened, least_ms / 2);
  if (!run_ms && run_ms.error().code == Code::kCancelled) return run_ms.error();
  if (!run_ms) return finished(run_ms.error().message);

  const double own_ms = slice_ms(*run_ms, opened->callers(), least_ms);
  // A slice must hold runs of each model if they are several.
  ArmRecord untuned(untuned_, options_, clock_, models_.size() == 1 ? untuned_slice_ms(own_ms, least_ms) : own_ms);
  ArmRecord own(*opened, options_, clock_, own_ms);
  const std::vector<measure::Arm> arms = {{name_of_untuned(), [&] { return untuned.run(); }},
                                          {"the candidate", [&] { return own.run(); }}};
  measure::InterleaveOptions how;
  how.stop = rounds_of(effort, options_.seconds, clock_.now() - begin);
  if (options_.end_by) {
    const double rest = to_seconds(*options_.end_by - clock_.now());
    how.stop.max_time = std::min(how.stop.max_time, from_seconds(share_of_rest(effort) * rest));
  }
  how.seed = ++trials_;
  const measure::InterleavedResult measured = measure::interleave(arms, how, clock_);
  if (measured.interrupted) return measured.failure;
  if (measured.failed_arm == kUntuned) return wrap(measured.failure, name_of_untuned());
  if (measured.failed_arm == kCandidate) return finished(measured.failure.message);
  fill(trial, measured.rounds);
  for (size_t i = 0; i < models_.size(); ++i) {
    trial.models[i].candidate = own.side(i);
    trial.models[i].baseline = untuned.side(i);
  }
  trial.memory_bytes = static_cast<double>(opened->rss_delta_bytes());
  return finished("");
}

Result<Trial> InterleavedBenchmark::measure(const Candidate& candidate, Effort effort) {
  RIDGE_ASSIGN(CoLocatedTrial together, measure(std::span(&candidate, 1), effort));
  Trial trial = std::move(together.models.front());
  trial.seconds = together.seconds;
  trial.failure = std::move(together.failure);
  return trial;
}

}  // namespace ridge::tune
