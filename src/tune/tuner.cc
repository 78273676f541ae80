#include "tune/tuner.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/units.h"

namespace ridge::tune {
namespace {

constexpr int kConfirmations = 3;
constexpr const char* kNotBorneOut = "ahead in the search, not borne out by the confirmation";

bool stopped(const TuneOptions& options) { return options.interrupted && options.interrupted(); }

void tell(const TuneOptions& options, const std::string& step, double share) {
  if (options.progress) options.progress(step, std::min(share, 1.0));
}

std::string so_far(const Search& search) {
  std::optional<Standing> best = search.best();
  if (!best) return "";
  if (!best->feasible)
    return fmt::format("; closest to the goal: {}, p99 {}", describe(best->candidate), format_ms(best->outcome.p99_ms));
  return fmt::format("; best {:.2f}× by {}", best->gain.ratio, describe(best->candidate));
}

// The trial of the candidate with the most pairs.
const Trial* best_known(const Explored& explored, const Candidate& candidate) {
  const Trial* best = nullptr;
  for (const auto& [other, trial] : explored.trials)
    if (other == candidate && trial.failure.empty() &&
        (best == nullptr || trial.rate_log_ratios.size() >= best->rate_log_ratios.size()))
      best = &trial;
  return best;
}

bool meets(const Goal& goal, double p99_ms) { return !goal.p99_ms || p99_ms <= *goal.p99_ms; }

// Nothing more is measured: the leader's own trials speak.
Decision by_exploration(const Search& search, const Explored& explored, const Trial& untuned, Choice choice) {
  std::optional<Standing> leader = search.best();
  if (choice == Choice::kBaseline || !leader) return {choice, baseline_candidate(), kNoGain, untuned, false};
  const Trial* trial = best_known(explored, leader->candidate);
  return {choice, leader->candidate, leader->gain, trial ? *trial : untuned, false};
}

// Records of runs that did not look at the energy counters say nothing about energy.
bool tells(const Trial& trial, Objective objective) {
  return objective != Objective::kEnergy || !trial.energy_log_ratios.empty();
}

BatchPoint point_of(const Side& side, int64_t batch) {
  return {batch, side.latency_ms.p50, side.latency_ms.p99, side.rows_per_s};
}

// The point as it would be with the machine as fast as it was when the untuned model made `reference` rows/s: it made
// `baseline` in turn with the point.
BatchPoint at_speed(BatchPoint point, double baseline, double reference) {
  if (baseline <= 0 || reference <= 0) return point;
  const double faster = reference / baseline;
  return {point.batch, point.p50_ms / faster, point.p99_ms / faster, point.rows_per_s * faster};
}

const Standing* known(const Search& search, const Candidate& candidate) {
  for (const Standing& standing : search.measured())
    if (standing.candidate == candidate) return &standing;
  return nullptr;
}

// A short trial, from the store if it is there.
Result<Trial> short_trial(const Candidate& candidate, Contest& contest, Store& store) {
  if (std::optional<Trial> found = store.find(candidate, 0)) return std::move(*found);
  RIDGE_ASSIGN(Trial trial, contest.measure(candidate, Effort::kShort));
  if (trial.failure.empty()) store.keep(candidate, 0, trial);
  return trial;
}

}  // namespace

Result<Explored> explore(Search& search, Contest& contest, Store& store, const TuneOptions& options) {
  Explored explored;
  TimePoint begin = SteadyClock::now();
  double paid_before = 0;  // [s] by earlier runs, for what the store gave
  auto spent = [&] { return (to_seconds(SteadyClock::now() - begin) + paid_before) / options.seconds; };
  while (std::optional<Probe> probe = search.next(spent())) {
    if ((explored.interrupted = stopped(options))) break;
    tell(options, describe(probe->candidate) + so_far(search), spent());
    std::optional<Trial> known = store.find(probe->candidate, probe->ordinal);
    if (known && tells(*known, options.goal.objective)) {
      paid_before += known->seconds;
      ++explored.reused;
    } else {
      Result<Trial> measured = contest.measure(probe->candidate, probe->effort);
      if (!measured && measured.error().code == Code::kCancelled) {
        explored.interrupted = true;
        break;
      }
      if (!measured) return measured.error();
      known = std::move(measured).value();
      // What failed once may work when there is more memory; it is tried again next time.
      if (known->failure.empty()) store.keep(probe->candidate, probe->ordinal, *known);
    }
    search.report(probe->candidate, outcome_of(*known, probe->candidate, options.goal.objective));
    explored.trials.emplace_back(probe->candidate, std::move(*known));
  }
  return explored;
}

Choice choose(const Goal& goal, const Search& search, double baseline_p99_ms) {
  std::optional<Standing> leader = search.best();
  bool baseline_meets = meets(goal, baseline_p99_ms);
  if (leader && leader->feasible && (!baseline_meets || leader->gain.low > 1)) return Choice::kCandidate;
  return baseline_meets ? Choice::kBaseline : Choice::kNone;
}

Result<Decision> confirm(Search& search, Contest& contest, const Explored& explored, const Trial& untuned,
                         const TuneOptions& options) {
  double baseline_p99_ms = untuned.baseline.latency_ms.p99;
  Trial last = untuned;
  auto unconfirmed = [&](Choice choice) {
    Decision decision = by_exploration(search, explored, last, choice);
    decision.interrupted = true;
    return decision;
  };
  for (int i = 0; i < kConfirmations; ++i) {
    Choice choice = choose(options.goal, search, baseline_p99_ms);
    if (explored.interrupted || stopped(options)) return unconfirmed(choice);
    if (choice == Choice::kNone) return by_exploration(search, explored, last, choice);
    if (choice == Choice::kBaseline) break;
    Candidate candidate = search.best()->candidate;
    tell(options, "confirming " + describe(candidate), 1);
    Result<Trial> trial = contest.measure(candidate, Effort::kConfirm);
    if (!trial && trial.error().code == Code::kCancelled) return unconfirmed(choice);
    if (!trial) return trial.error();
    Outcome outcome = outcome_of(*trial, candidate, options.goal.objective);
    search.report(candidate, outcome);
    if (!outcome.failure.empty()) continue;  // report() took it out
    Gain gain = gain_of(outcome.gains);
    bool needed = !meets(options.goal, baseline_p99_ms);
    if (meets(options.goal, outcome.p99_ms) && (needed || gain.low > 1))
      return Decision{Choice::kCandidate, candidate, gain, std::move(trial).value(), false};
    last = std::move(trial).value();
    search.withdraw(candidate, kNotBorneOut);
  }
  if (!meets(options.goal, baseline_p99_ms)) return by_exploration(search, explored, last, Choice::kNone);
  return Decision{Choice::kBaseline, baseline_candidate(), kNoGain, std::move(last), false};
}

Result<Decision> remeasure(const Candidate& candidate, Contest& contest, const Trial& untuned,
                           const TuneOptions& options) {
  if (candidate == baseline_candidate()) return Decision{Choice::kBaseline, candidate, kNoGain, untuned, false};
  tell(options, "again: " + describe(candidate), 0.5);
  RIDGE_ASSIGN(Trial trial, contest.measure(candidate, Effort::kConfirm));
  if (!trial.failure.empty())
    return Error{Code::kFailed, describe(candidate) + " ran before and fails now: " + trial.failure};
  const Gain gain = gain_of(outcome_of(trial, candidate, options.goal.objective).gains);
  return Decision{Choice::kCandidate, candidate, gain, std::move(trial), false};
}

Result<std::vector<BatchPoint>> measure_curve(const Decision& decision, int64_t most_batch, const Search& search,
                                              Contest& contest, Store& store, const TuneOptions& options) {
  std::vector<BatchPoint> curve;
  const Candidate& chosen = decision.candidate;
  const Side& side = chosen == baseline_candidate() ? decision.trial.baseline : decision.trial.candidate;
  const double reference = decision.trial.baseline.rows_per_s;
  for (int64_t batch = 1; batch <= std::min(most_batch, 2 * chosen.batch); batch *= 2) {
    Candidate candidate = chosen;
    candidate.batch = batch;
    if (batch == chosen.batch) {
      curve.push_back(point_of(side, batch));
    } else if (const Standing* standing = known(search, candidate)) {
      const Outcome& seen = standing->outcome;
      curve.push_back(
          at_speed({batch, seen.p50_ms, seen.p99_ms, seen.rows_per_s}, seen.baseline_rows_per_s, reference));
    } else if (!decision.interrupted && !stopped(options)) {
      tell(options, "batch curve: " + describe(candidate), 1);
      Result<Trial> trial = short_trial(candidate, contest, store);
      if (!trial && trial.error().code != Code::kCancelled) return trial.error();
      if (trial && trial->failure.empty())
        curve.push_back(at_speed(point_of(trial->candidate, batch), trial->baseline.rows_per_s, reference));
    }
  }
  return curve;
}

}  // namespace ridge::tune
