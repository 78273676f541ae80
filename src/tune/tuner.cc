#include "tune/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "measure/statistics.h"
#include "tune/front.h"
#include "tune/knee.h"

namespace ridge::tune {
namespace {

bool meets(const Goal& goal, const Candidate& candidate, const Figures& figures) {
  return fulfilment_of(goal.limits(), candidate, figures).met();
}

// Where latency weighs as well: whether it is worth it.
bool pays(const Goal& goal, const Trial& trial) {
  if (goal.objective != Objective::kBalanced || goal.has_limits()) return true;
  auto power = [](const Side& side) { return log_power(std::log(side.rows_per_s), side.latency_ms.p99); };
  return power(trial.candidate) >= power(trial.baseline);
}

// A Problem of search_and_confirm.h.
struct OneModel {
  using Candidate = tune::Candidate;
  using Trial = tune::Trial;
  Search& search;
  InterleavedBenchmark& benchmark;
  Store* store;  // of explore() alone
  const Goal& goal;

  Clock& clock() { return benchmark.clock(); }
  std::optional<Probe> next(double spent) { return search.next(spent); }
  Result<Trial> measure(const Candidate& candidate, Effort effort) { return benchmark.measure(candidate, effort); }
  // Records without energy readings are unmeasured for energy.
  std::optional<Trial> recall(const Candidate& candidate, int ordinal) {
    std::optional<Trial> trial = store->find(candidate, ordinal);
    const bool says = trial && (goal.objective != Objective::kEnergy || !trial->energy_log_ratios.empty());
    return says ? trial : std::nullopt;
  }
  void keep(const Candidate& candidate, int ordinal, const Trial& trial) { store->keep(candidate, ordinal, trial); }
  bool report(const Candidate& candidate, const Trial& trial) {
    const Outcome outcome = outcome_of(trial, candidate, goal.objective);
    search.report(candidate, outcome);
    return outcome.failure.empty();
  }
  void withdraw(const Candidate& candidate, const SkipReason& reason) { search.withdraw(candidate, reason); }
  std::optional<Leader<Candidate>> leader() const { return leader_of(search); }
  Candidate untuned() const { return baseline_candidate(); }
  bool untuned_meets(const Trial& trial) const {
    return tune::meets(goal, baseline_candidate(), trial.baseline.figures());
  }
  bool meets(const Candidate& candidate, const Trial& trial) const {
    return tune::meets(goal, candidate, trial.candidate.figures()) && pays(goal, trial);
  }
  Gain gain(const Candidate& candidate, const Trial& trial) const {
    return gain_of(outcome_of(trial, candidate, goal.objective).gains);
  }
  static size_t rounds(const Trial& trial) { return trial.rate_log_ratios.size(); }
  std::string describe(const Candidate& candidate) const { return tune::describe(candidate); }
  std::string so_far() const {
    const std::optional<Standing> best = search.best();
    if (!best) return "";
    if (!best->feasible)
      return fmt::format("; closest to the goal: {}, p99 {}", describe(best->candidate),
                         format_ms(best->outcome.candidate.p99_ms));
    return fmt::format("; best {:.2f}× by {}", best->gain.ratio, describe(best->candidate));
  }
};

BatchPoint point_of(const Standing& standing) {
  return {standing.candidate.batch, standing.outcome.candidate, standing.rows_per_s_ci95()};
}

Standing standing_of(const Candidate& candidate, const Trial& trial) {
  Standing standing;
  standing.candidate = candidate;
  standing.outcome = outcome_of(trial, candidate, Objective::kThroughput);
  standing.gain = standing.rate = gain_of(trial.rate_log_ratios);
  return standing;
}

const Standing* known(const Search& search, const Candidate& candidate) {
  for (const Standing& standing : search.measured())
    if (standing.candidate == candidate) return &standing;
  return nullptr;
}

// A short trial, from the store if it is there.
Result<Trial> short_trial(const Candidate& candidate, InterleavedBenchmark& benchmark, Store& store) {
  if (std::optional<Trial> found = store.find(candidate, 0)) return std::move(*found);
  RIDGE_ASSIGN(Trial trial, benchmark.measure(candidate, Effort::kShort));
  if (trial.failure.empty()) store.keep(candidate, 0, trial);
  return trial;
}

}  // namespace

Result<Exploration> explore(Search& search, InterleavedBenchmark& benchmark, Store& store, const TuneOptions& options) {
  OneModel problem{search, benchmark, &store, options.goal};
  return explore(problem, options);
}

Result<Decision> confirm(Search& search, InterleavedBenchmark& benchmark, const Exploration& explored,
                         const Trial& untuned, const TuneOptions& options) {
  OneModel problem{search, benchmark, nullptr, options.goal};
  return confirm(problem, explored, untuned, options);
}

const Trial* longest_trial(const Exploration& explored, const Candidate& candidate) {
  return longest_trial<OneModel>(explored, candidate);
}

std::optional<Leader<Candidate>> leader_of(const Search& search) {
  const std::optional<Standing> best = search.best();
  if (!best) return std::nullopt;
  return Leader<Candidate>{best->candidate, best->feasible, best->gain};
}

Result<Decision> remeasure(const Candidate& candidate, InterleavedBenchmark& benchmark, const Trial& untuned,
                           const TuneOptions& options) {
  if (candidate == baseline_candidate()) return Decision{Choice::kBaseline, candidate, kNoGain, untuned, false};
  options.report("again: " + describe(candidate), 0.5);
  RIDGE_ASSIGN(Trial trial, benchmark.measure(candidate, Effort::kAgain));
  if (!trial.failure.empty())
    return Error{Code::kFailed, describe(candidate) + " ran before and fails now: " + trial.failure};
  const Gain gain = gain_of(outcome_of(trial, candidate, options.goal.objective).gains);
  return Decision{Choice::kCandidate, candidate, gain, std::move(trial), false};
}

std::vector<int64_t> curve_batches(const Candidate& chosen, int64_t most_batch) {
  std::vector<int64_t> batches;
  for (int64_t batch = 1; batch <= std::min(most_batch, 2 * chosen.batch); batch *= 2) batches.push_back(batch);
  return batches;
}

std::string curve_not_done(int late, const Candidate& chosen, int64_t most_batch) {
  return fmt::format("{} of {} points of the batch curve were not measured", late,
                     curve_batches(chosen, most_batch).size());
}

Result<BatchCurve> measure_curve(const Decision& decision, int64_t most_batch, const Search& search,
                                 InterleavedBenchmark& benchmark, Store& store, const TuneOptions& options) {
  BatchCurve curve;
  const Candidate& chosen = decision.candidate;
  const double reference = decision.trial.baseline.rows_per_s;
  for (const int64_t batch : curve_batches(chosen, most_batch)) {
    Candidate candidate = chosen;
    candidate.batch = batch;
    if (candidate == baseline_candidate()) {
      curve.points.push_back({batch, decision.trial.baseline.figures(),
                              measure::mean_rate_interval(decision.trial.rounds.untuned_rows_per_s)});
    } else if (batch == chosen.batch) {
      curve.points.push_back(point_of(standing_of(chosen, decision.trial)));
    } else if (const Standing* standing = known(search, candidate)) {
      curve.points.push_back(point_of(at_speed(*standing, reference)));
    } else if (!decision.interrupted && !options.stopped()) {
      if (options.out_of_time()) {
        ++curve.late;
        continue;
      }
      options.report("batch curve: " + describe(candidate), 1);
      const Result<Trial> trial = short_trial(candidate, benchmark, store);
      if (!trial && trial.error().code != Code::kCancelled) return trial.error();
      if (trial && trial->failure.empty())
        curve.points.push_back(point_of(at_speed(standing_of(candidate, *trial), reference)));
    }
  }
  return curve;
}

}  // namespace ridge::tune
