#include "tune/tuner.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace ridge::tune {
namespace {

bool meets(const Goal& goal, const Figures& figures) { return !goal.p99_ms || figures.p99_ms <= *goal.p99_ms; }

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
  bool untuned_meets(const Trial& trial) const { return tune::meets(goal, trial.baseline.figures()); }
  bool meets(const Candidate&, const Trial& trial) const { return tune::meets(goal, trial.candidate.figures()); }
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

// The figures scaled to the machine's speed at which the untuned model made `reference` rows/s: it made `baseline` when
// interleaved with them.
Figures at_speed(Figures figures, double baseline, double reference) {
  if (baseline <= 0 || reference <= 0) return figures;
  const double faster = reference / baseline;
  figures.rows_per_s *= faster;
  figures.p50_ms /= faster;
  figures.p99_ms /= faster;
  return figures;
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
  RIDGE_ASSIGN(Trial trial, benchmark.measure(candidate, Effort::kConfirm));
  if (!trial.failure.empty())
    return Error{Code::kFailed, describe(candidate) + " ran before and fails now: " + trial.failure};
  const Gain gain = gain_of(outcome_of(trial, candidate, options.goal.objective).gains);
  return Decision{Choice::kCandidate, candidate, gain, std::move(trial), false};
}

Result<std::vector<BatchPoint>> measure_curve(const Decision& decision, int64_t most_batch, const Search& search,
                                              InterleavedBenchmark& benchmark, Store& store,
                                              const TuneOptions& options) {
  std::vector<BatchPoint> curve;
  const Candidate& chosen = decision.candidate;
  const Side& side = chosen == baseline_candidate() ? decision.trial.baseline : decision.trial.candidate;
  const double reference = decision.trial.baseline.rows_per_s;
  for (int64_t batch = 1; batch <= std::min(most_batch, 2 * chosen.batch); batch *= 2) {
    Candidate candidate = chosen;
    candidate.batch = batch;
    if (batch == chosen.batch) {
      curve.push_back({batch, side.figures()});
    } else if (const Standing* standing = known(search, candidate)) {
      const Outcome& seen = standing->outcome;
      curve.push_back({batch, at_speed(seen.candidate, seen.baseline.rows_per_s, reference)});
    } else if (!decision.interrupted && !options.stopped()) {
      options.report("batch curve: " + describe(candidate), 1);
      const Result<Trial> trial = short_trial(candidate, benchmark, store);
      if (!trial && trial.error().code != Code::kCancelled) return trial.error();
      if (trial && trial->failure.empty())
        curve.push_back({batch, at_speed(trial->candidate.figures(), trial->baseline.rows_per_s, reference)});
    }
  }
  return curve;
}

}  // namespace ridge::tune
