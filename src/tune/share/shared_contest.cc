#include "tune/share/shared_contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/units.h"
#include "measure/resident.h"
#include "measure/statistics.h"
#include "tune/share/ensemble.h"
#include "tune/turns.h"

namespace ridge::tune::share {
namespace {

constexpr double kProvingRuns = 200;  // a 99th percentile of fewer is the luck of one run
constexpr double kFewestRuns = 10;
// Of the rows asked for: random arrivals of 200 runs differ from their mean by 7 % (1/√200), most of it in both alike.
constexpr double kDone = 0.8;

// One side of a shared trial while it is measured.
struct EnsemblePlayer {
  Ensemble& ensemble;
  double slice_ms = 0;
  std::vector<PartSlice> all = {};       // over the slices; rows_per_s is their sum
  std::vector<double> rates = {};        // of the last slice, per model
  std::vector<double> last_p50_ms = {};  // likewise
  int slices = 0;

  Status play(const std::function<bool()>& interrupted) {
    RIDGE_ASSIGN(const std::vector<PartSlice> now, ensemble.run_slice(slice_ms, interrupted));
    all.resize(now.size());
    rates.clear();
    last_p50_ms.clear();
    for (size_t i = 0; i < now.size(); ++i) {
      PartSlice& sum = all[i];
      sum.latencies_ms.insert(sum.latencies_ms.end(), now[i].latencies_ms.begin(), now[i].latencies_ms.end());
      sum.rows_per_s += now[i].rows_per_s;
      sum.sums_ms.input += now[i].sums_ms.input;
      sum.sums_ms.compute += now[i].sums_ms.compute;
      sum.sums_ms.output += now[i].sums_ms.output;
      rates.push_back(now[i].rows_per_s);
      last_p50_ms.push_back(measure::median(now[i].latencies_ms));
    }
    ++slices;
    return {};
  }

  Side side(size_t model) {
    const PartSlice& sum = all[model];
    return side_of(ensemble.runner(model), sum.latencies_ms, sum.rows_per_s / std::max(slices, 1), sum.sums_ms);
  }
};

Result<Ensemble> open_split(std::span<const Sharer> sharers, const Split& split, uint64_t seed) {
  std::vector<EnsemblePart> parts;
  for (size_t i = 0; i < sharers.size(); ++i)
    parts.push_back({to_plan(split[i], sharers[i].base, sharers[i].implementations), sharers[i].graph});
  return Ensemble::open(parts, seed);
}

// Of each member with a load.
std::vector<std::optional<double>> runs_per_s(std::span<const Member> members, const Split& split) {
  std::vector<std::optional<double>> loads;
  for (size_t i = 0; i < members.size(); ++i) {
    loads.push_back(members[i].goal.rows_per_s);
    if (loads.back()) *loads.back() /= static_cast<double>(split[i].batch);
  }
  return loads;
}

double proof_seconds(const std::vector<std::optional<double>>& loads, const SharedContestOptions& options) {
  double seconds = 1;
  for (const std::optional<double>& load : loads)
    if (load) seconds = std::max(seconds, kProvingRuns / *load);
  return std::min(seconds, std::max(1.0, options.seconds / 4));
}

AtLoad at_load(double runs_per_s, const Candidate& candidate, const PartSlice& slice) {
  const double rows_per_s = runs_per_s * static_cast<double>(candidate.batch);
  const double fill_ms = 1e3 * static_cast<double>(candidate.batch - 1) / rows_per_s;
  return {rows_per_s, slice.rows_per_s, fill_ms + measure::latency_of(slice.latencies_ms).p99,
          static_cast<int64_t>(slice.latencies_ms.size())};
}

// The median run of the slowest model.
double slowest_ms(const std::vector<PartSlice>& slices) {
  double slowest = 0;
  for (const PartSlice& slice : slices) slowest = std::max(slowest, measure::median(slice.latencies_ms));
  return slowest;
}

}  // namespace

struct SharedContest::State {
  std::vector<Sharer> sharers;
  SharedContestOptions options;
  std::optional<Ensemble> untuned;
  bool untuned_first = true;  // which side begins the next pair

  Result<Ensemble> open(const Split& split) const { return open_split(sharers, split, options.seed); }
  Result<double> run_ms(Ensemble& ensemble) const;
  Status play_pair(EnsemblePlayer& own, EnsemblePlayer& other, SharedTrial& trial);
};

SharedContest::SharedContest(std::unique_ptr<State> state) : state_(std::move(state)) {}
SharedContest::~SharedContest() = default;

Result<std::unique_ptr<SharedContest>> SharedContest::open(std::vector<Sharer> sharers, SharedContestOptions options) {
  auto state = std::make_unique<State>(State{std::move(sharers), std::move(options), std::nullopt});
  Result<Ensemble> untuned = state->open(untuned_split(state->sharers.size()));
  if (!untuned) return wrap(untuned.error(), "the untuned models together");
  state->untuned.emplace(std::move(*untuned));
  return std::unique_ptr<SharedContest>(new SharedContest(std::move(state)));
}

// Of the slowest model, warm if runs are short.
Result<double> SharedContest::State::run_ms(Ensemble& ensemble) const {
  const double first_ms = ensemble.slowest_first_run_ms();
  if (first_ms >= kSlowRunMs) return first_ms;
  RIDGE_ASSIGN(const std::vector<PartSlice> warm, ensemble.run_slice(to_ms(options.slice) / 2, options.interrupted));
  return slowest_ms(warm);
}

// One slice of each side. An error of the split's goes to trial.failure.
Status SharedContest::State::play_pair(EnsemblePlayer& own, EnsemblePlayer& other, SharedTrial& trial) {
  for (bool first : {untuned_first, !untuned_first}) {
    const Status played = (first ? other : own).play(options.interrupted);
    if (!played && first) return wrap(played.error(), "the untuned models together");
    if (!played && played.error().code == Code::kCancelled) return played.error();
    if (!played) {
      trial.failure = played.error().message;
      return {};
    }
  }
  untuned_first = !untuned_first;
  trial.pairs.push_back({own.rates, other.rates});
  for (size_t i = 0; i < trial.models.size(); ++i) {
    trial.models[i].rate_log_ratios.push_back(std::log(own.rates[i] / other.rates[i]));
    trial.models[i].latency_log_ratios.push_back(std::log(other.last_p50_ms[i] / own.last_p50_ms[i]));
  }
  return {};
}

Result<SharedTrial> SharedContest::measure(const Split& split, Effort effort) {
  State& state = *state_;
  const TimePoint begin = SteadyClock::now();
  SharedTrial trial;
  trial.models.resize(state.sharers.size());
  auto finished = [&](std::string failure) {
    trial.failure = std::move(failure);
    trial.seconds = to_seconds(SteadyClock::now() - begin);
    return trial;
  };
  Result<Ensemble> opened = state.open(split);
  if (!opened) return finished(opened.error().message);
  Result<double> run_ms = state.run_ms(*opened);
  if (!run_ms && run_ms.error().code == Code::kCancelled) return run_ms.error();
  if (!run_ms) return finished(run_ms.error().message);
  const double least_ms = to_ms(state.options.slice);
  EnsemblePlayer own{*opened, slice_ms(*run_ms, opened->callers(), least_ms)};
  // Several models: each must have its runs in it, so it is as long.
  EnsemblePlayer other{*state.untuned, own.slice_ms};
  const Extent extent = extent_of(effort);
  const TimePoint end = begin + from_seconds(extent.share * state.options.seconds);
  for (int pair = 0; pair < extent.pairs && (pair < extent.least_pairs || SteadyClock::now() < end); ++pair) {
    RIDGE_TRY(state.play_pair(own, other, trial));
    if (!trial.failure.empty()) return finished(trial.failure);
  }
  for (size_t i = 0; i < trial.models.size(); ++i) {
    trial.models[i].candidate = own.side(i);
    trial.models[i].baseline = other.side(i);
  }
  trial.memory_bytes = static_cast<double>(opened->rss_delta_bytes());
  return finished("");
}

Result<Proof> prove(std::span<const Sharer> sharers, std::span<const Member> members, const Split& split,
                    const SharedContestOptions& options) {
  RIDGE_ASSIGN(Ensemble ensemble, open_split(sharers, split, options.seed));
  RIDGE_TRY(ensemble.run_slice(to_ms(options.slice), options.interrupted));
  Proof proof;
  proof.at_load.resize(members.size());
  std::vector<std::optional<double>> loads = runs_per_s(members, split);
  const double seconds = proof_seconds(loads, options);
  for (std::optional<double>& load : loads)
    if (load) load = std::max(*load, kFewestRuns / seconds);
  if (std::any_of(loads.begin(), loads.end(), [](const auto& load) { return load.has_value(); })) {
    RIDGE_ASSIGN(const std::vector<PartSlice> slices,
                 ensemble.run_at_loads(loads, seconds, options.seed, options.interrupted));
    for (size_t i = 0; i < members.size(); ++i)
      if (loads[i]) proof.at_load[i] = at_load(*loads[i], split[i], slices[i]);
  }
  proof.resident_bytes = measure::settled_resident_bytes();
  return proof;
}

std::string refuted(const Proof& proof, std::span<const Member> members) {
  for (size_t i = 0; i < members.size(); ++i) {
    const std::optional<AtLoad>& seen = proof.at_load[i];
    const std::optional<double>& goal = members[i].goal.p99_ms;
    if (!seen) continue;
    if (seen->done_per_s < kDone * seen->asked_per_s)
      return fmt::format("at the loads {} does {:.4g} of {:.4g} rows/s (measured)", members[i].name, seen->done_per_s,
                         seen->asked_per_s);
    if (goal && seen->request_p99_ms > *goal)
      return fmt::format("at the loads a request of {} has a p99 of {}, above {} (measured)", members[i].name,
                         format_ms(seen->request_p99_ms), format_ms(*goal));
  }
  return "";
}

Split untuned_split(size_t models) { return Split(models, baseline_candidate()); }

}  // namespace ridge::tune::share
