#include "tune/co_located_models.h"

#include <algorithm>
#include <limits>

#include "measure/load.h"
#include "measure/resident.h"

namespace ridge::tune {
namespace {

// Breakdown of one caller's time, over the sampled runs. Written by that caller's thread alone.
struct alignas(64) CallerTimes {
  engine::RunTimes sum;
  int64_t runs = 0;

  void add(const engine::RunTimes& times) {
    sum.input += times.input;
    sum.compute += times.compute;
    sum.output += times.output;
    ++runs;
  }
};

// The means of `times`, scaled to all of the caller's `runs`.
void add_times(measure::Stages& sums_ms, const CallerTimes& times, double runs) {
  if (times.runs == 0) return;
  const double scale = runs / static_cast<double>(times.runs);
  sums_ms.input += scale * to_ms(times.sum.input);
  sums_ms.compute += scale * to_ms(times.sum.compute);
  sums_ms.output += scale * to_ms(times.sum.output);
}

measure::LoadOptions for_just(double seconds, const std::function<bool()>& interrupted) {
  measure::LoadOptions options;
  options.stop.half_width_percent = 0;
  options.stop.max_time = from_seconds(seconds);
  options.interrupted = interrupted;
  return options;
}

}  // namespace

Result<CoLocatedModels> CoLocatedModels::open(std::span<const ModelToOpen> models, uint64_t seed, Clock& clock,
                                              double seconds) {
  const int64_t resident_before = measure::resident_bytes();
  CoLocatedModels opened(clock);
  for (const ModelToOpen& model : models) {
    const int callers = model.plan.instances;
    Result<measure::Runner> runner = measure::Runner::open(model.plan, model.graph, callers, seed, clock, seconds);
    if (!runner) return models.size() == 1 ? runner.error() : wrap(runner.error(), model.plan.model);
    for (int caller = 0; caller < callers; ++caller) opened.callers_.push_back({opened.runners_.size(), caller});
    opened.runners_.push_back(std::move(*runner));
  }
  opened.rss_delta_bytes_ = measure::resident_bytes() - resident_before;
  return opened;
}

Result<std::vector<ModelSlice>> CoLocatedModels::run_slice(double ms, const std::function<bool()>& interrupted,
                                                           machine::DisturbanceWatch* watch) {
  measure::LoadOptions options = for_just(ms / 1e3, interrupted);
  if (watch != nullptr) options.before_end = [watch] { watch->look(); };
  options.concurrency = callers();
  std::vector<CallerTimes> times(callers_.size());
  const measure::RunOnce target = [&](int number, engine::RunTimes* asked) -> Status {
    const Caller& caller = callers_[static_cast<size_t>(number)];
    RIDGE_TRY(runners_[caller.model].run(caller.number, asked));
    if (asked != nullptr) times[static_cast<size_t>(number)].add(*asked);
    return {};
  };
  const int64_t resident_before = measure::resident_bytes();
  RIDGE_ASSIGN(const measure::LoadResult load, measure::run_load(target, options, *clock_));
  rss_delta_bytes_ += measure::resident_bytes() - resident_before;
  if (load.interrupted || load.caller_rates_per_s.size() != callers_.size())
    return Error{Code::kCancelled, "interrupted"};
  std::vector<ModelSlice> slices(runners_.size());
  std::vector<double> runs(callers_.size());
  for (size_t i = 0; i < load.latencies_ms.size(); ++i) {
    const auto caller = static_cast<size_t>(load.callers[i]);
    slices[callers_[caller].model].latencies_ms.push_back(load.latencies_ms[i]);
    ++runs[caller];
  }
  for (size_t i = 0; i < callers_.size(); ++i) {
    ModelSlice& slice = slices[callers_[i].model];
    slice.rows_per_s += load.caller_rates_per_s[i] * static_cast<double>(runners_[callers_[i].model].rows());
    add_times(slice.sums_ms, times[i], runs[i]);
  }
  return slices;
}

Result<std::vector<ModelSlice>> CoLocatedModels::run_at_loads(std::span<const std::optional<double>> runs_per_s,
                                                              double seconds, uint64_t seed,
                                                              const std::function<bool()>& interrupted) {
  std::vector<std::optional<Result<measure::LoadResult>>> loads(runners_.size());
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < runners_.size(); ++i)
    threads.push_back(clock_->start([&, i] {
      measure::LoadOptions options = for_just(seconds, interrupted);
      options.concurrency = static_cast<int>(
          std::count_if(callers_.begin(), callers_.end(), [i](const Caller& caller) { return caller.model == i; }));
      options.rate_per_s = runs_per_s[i];
      options.arrival = measure::Arrival::kPoisson;
      options.seed = seed + i;
      loads[i] = measure::run_load(runners_[i].target(), options, *clock_);
    }));
  for (std::jthread& thread : threads) clock_->join(thread);
  std::vector<ModelSlice> slices(runners_.size());
  for (size_t i = 0; i < loads.size(); ++i) {
    if (!*loads[i]) return loads[i]->error();
    if ((**loads[i]).interrupted) return Error{Code::kCancelled, "interrupted"};
    slices[i].latencies_ms = (**loads[i]).latencies_ms;
    slices[i].rows_per_s = (**loads[i]).rate_per_s * static_cast<double>(runners_[i].rows());
  }
  return slices;
}

double CoLocatedModels::slowest_first_run_ms() const {
  double slowest = 0;
  for (const measure::Runner& runner : runners_) slowest = std::max(slowest, runner.first_run_ms());
  return slowest;
}

}  // namespace ridge::tune
