#include "tune/share/ensemble.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "base/clock.h"
#include "measure/load.h"
#include "measure/resident.h"

namespace ridge::tune::share {
namespace {

// Where one caller's time went, over the runs that were asked for it. Written by that caller's thread alone.
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

// The means of `times` scaled to all of the caller's `runs`.
void add_times(PartSlice& slice, const CallerTimes& times, double runs) {
  if (times.runs == 0) return;
  const double scale = runs / static_cast<double>(times.runs);
  slice.sums_ms.input += scale * to_ms(times.sum.input);
  slice.sums_ms.compute += scale * to_ms(times.sum.compute);
  slice.sums_ms.output += scale * to_ms(times.sum.output);
}

}  // namespace

Result<Ensemble> Ensemble::open(std::span<const EnsemblePart> parts, uint64_t seed) {
  const int64_t resident_before = measure::resident_bytes();
  Ensemble ensemble;
  for (const EnsemblePart& part : parts) {
    Result<measure::Runner> runner = measure::Runner::open(part.plan, part.graph, part.plan.instances, seed);
    if (!runner) return wrap(runner.error(), part.plan.model);
    for (int caller = 0; caller < part.plan.instances; ++caller)
      ensemble.places_.push_back({ensemble.runners_.size(), caller});
    ensemble.runners_.push_back(std::move(*runner));
  }
  ensemble.rss_delta_bytes_ = measure::resident_bytes() - resident_before;
  return ensemble;
}

Result<std::vector<PartSlice>> Ensemble::run_slice(double ms, const std::function<bool()>& interrupted) {
  measure::LoadOptions options;
  options.concurrency = callers();
  options.stop.min_samples = std::numeric_limits<int64_t>::max();  // time alone ends a slice
  options.stop.max_time = from_seconds(ms / 1e3);
  options.interrupted = interrupted;
  std::vector<CallerTimes> times(places_.size());
  const measure::Target target = [&](int caller, engine::RunTimes* asked) -> Status {
    const Place& place = places_[static_cast<size_t>(caller)];
    RIDGE_TRY(runners_[place.part].run(place.caller, asked));
    if (asked != nullptr) times[static_cast<size_t>(caller)].add(*asked);
    return {};
  };
  const int64_t resident_before = measure::resident_bytes();
  RIDGE_ASSIGN(const measure::LoadResult load, measure::run_load(target, options, system_clock()));
  rss_delta_bytes_ += measure::resident_bytes() - resident_before;
  if (load.interrupted || load.caller_rates_per_s.size() != places_.size())
    return Error{Code::kCancelled, "interrupted"};
  std::vector<PartSlice> slices(runners_.size());
  std::vector<double> runs(places_.size());
  for (size_t i = 0; i < load.latencies_ms.size(); ++i) {
    const auto caller = static_cast<size_t>(load.callers[i]);
    slices[places_[caller].part].latencies_ms.push_back(load.latencies_ms[i]);
    ++runs[caller];
  }
  for (size_t i = 0; i < places_.size(); ++i) {
    PartSlice& slice = slices[places_[i].part];
    slice.rows_per_s += load.caller_rates_per_s[i] * static_cast<double>(runners_[places_[i].part].rows());
    add_times(slice, times[i], runs[i]);
  }
  return slices;
}

Result<std::vector<PartSlice>> Ensemble::run_at_loads(std::span<const std::optional<double>> runs_per_s, double seconds,
                                                      uint64_t seed, const std::function<bool()>& interrupted) {
  std::vector<std::optional<Result<measure::LoadResult>>> loads(runners_.size());
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < runners_.size(); ++i)
      threads.emplace_back([&, i] {
        measure::LoadOptions options;
        for (const Place& place : places_) options.concurrency += place.part == i && place.caller > 0 ? 1 : 0;
        options.rate_per_s = runs_per_s[i];
        options.arrival = measure::Arrival::kPoisson;
        options.seed = seed + i;
        options.stop.min_samples = std::numeric_limits<int64_t>::max();
        options.stop.max_time = from_seconds(seconds);
        options.interrupted = interrupted;
        loads[i] = measure::run_load(runners_[i].target(), options, system_clock());
      });
  }
  std::vector<PartSlice> slices(runners_.size());
  for (size_t i = 0; i < loads.size(); ++i) {
    if (!*loads[i]) return loads[i]->error();
    if ((**loads[i]).interrupted) return Error{Code::kCancelled, "interrupted"};
    slices[i].latencies_ms = (**loads[i]).latencies_ms;
    slices[i].rows_per_s = (**loads[i]).rate_per_s * static_cast<double>(runners_[i].rows());
  }
  return slices;
}

double Ensemble::slowest_first_run_ms() const {
  double slowest = 0;
  for (const measure::Runner& runner : runners_) slowest = std::max(slowest, runner.first_run_ms());
  return slowest;
}

}  // namespace ridge::tune::share
