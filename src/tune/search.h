// Search: which candidate to measure next, when to stop, and which is best. Fed with numbers; it sees no clock, no
// engine.
//
// Explore: each measurement goes to the candidate of which, by all measurements so far, most is to be expected beyond the
// best (tune/surrogate.h), until that is less than a measurement is worth. Refine: the contenders again, for longer, until
// they can be told apart. A candidate is judged by its gain over the baseline measured in turn with it, so that the drift
// of a shared machine cancels. One whose physical limit is below what was already measured, that would miss the p99 goal
// because a smaller batch does, or of which a smaller one failed, is skipped and counted. Anytime: best() may be asked
// after any report(). The same reports give the same choices. One thread.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tune/effort.h"
#include "tune/figures.h"
#include "tune/space.h"
#include "tune/surrogate.h"

namespace ridge::tune {

// What one measurement of a candidate in turn with the baseline found.
struct Outcome {
  std::vector<double> gains;  // per round: ln(objective of the candidate / of the baseline); > 0 = better
  Figures candidate, baseline;
  std::string failure;  // not empty: the candidate cannot run, and why
};

// The gain with its 95 % confidence interval, as ratios to the baseline.
struct Gain {
  double ratio = 1;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();  // with fewer than two rounds: nothing is known
};
void visit_fields(auto& visit, Is<Gain> auto& gain) {
  visit("ratio", gain.ratio, above(0));
  visit.optional("low", gain.low);
  visit.optional("high", gain.high);
}
Gain gain_of(std::span<const double> log_ratios);
inline constexpr Gain kNoGain{1, 1, 1};  // of the baseline: over itself

// Everything known about a measured candidate.
struct Standing {
  Candidate candidate;
  Outcome outcome;  // all its measurements together: gains in order, the rest weighted by samples
  Gain gain;
  Entry entry;           // its limits and its memory, as the space derived them
  bool feasible = true;  // meets the p99 goal
  int trials = 0;
};
// As a point of a tuning result.
void visit_fields(auto& visit, Is<Standing> auto& standing) {
  auto& figures = standing.outcome.candidate;
  visit_fields(visit, standing.candidate);
  visit.derived("text", describe(standing.candidate));
  visit("throughput_per_s", figures.rows_per_s);
  visit.object("latency_ms", [&](auto& latency) { visit_percentiles(latency, figures); });
  visit("gain", standing.gain);
  visit.optional("meets_goal", standing.feasible);
  visit.optional("samples", figures.samples);
  visit.optional("memory_bytes", standing.entry.memory_bytes);
  visit.optional("bound_ms", standing.entry.bound_ms);
  visit.optional("limit_per_s", standing.entry.max_rows_per_s);
  visit.unless_empty("joules_per_row", figures.joules_per_row);
}

// The next measurement of a search for the best `Candidate`.
template <typename Candidate>
struct ProbeOf {
  Candidate candidate;
  Effort effort = Effort::kShort;
  int ordinal = 0;  // how often this candidate was measured before
};
using Probe = ProbeOf<Candidate>;

// kFull measures every entry of the space in order, and then those that may be the best more often than kQuick does: what
// kQuick is judged by.
enum class Strategy { kQuick, kFull };

class Search {
 public:
  // `max_trials` 0 = no limit.
  Search(Space space, const Goal& goal, int max_trials = 0, Strategy strategy = Strategy::kQuick);

  // The next measurement, or nothing when more would not help. `spent` is the used share of the time budget, 0…1: from
  // 0.75 on (likewise of the trials) only contenders are measured again, from 1 on nothing.
  std::optional<Probe> next(double spent);
  void report(const Candidate& candidate, const Outcome& outcome);
  // Takes a measured candidate out of the running, e.g. because a confirmation did not bear it out.
  void withdraw(const Candidate& candidate, const SkipReason& reason);

  // The candidate with the highest lower bound of its gain among those that meet the goal; if none does, the one
  // closest to it (feasible = false). Absent before the first successful measurement.
  std::optional<Standing> best() const;
  const std::vector<Standing>& measured() const { return measured_; }
  // Measured candidates that no other beats in rows/s, p99, memory and, where measured, energy at once, by falling rows/s.
  std::vector<Standing> pareto() const;
  // Candidates that were not measured, with reason and count. Those that were never looked at count as well.
  std::vector<SkipCount> skipped() const;
  int trials() const { return trials_; }

 private:
  enum class State { kUntried, kMeasured, kWithdrawn };
  struct Failure {
    Candidate candidate;
    std::string reason;
  };

  std::optional<Probe> explore();
  std::optional<size_t> most_promising();
  std::optional<size_t> first_untried() const;
  std::optional<Probe> refine();
  void learn();
  std::optional<double> best_believed() const;
  std::optional<double> closest_believed() const;
  double promise(size_t index, const std::optional<double>& best, const std::optional<double>& closest) const;
  Posterior closeness(size_t index) const;
  SkipReason cannot_win(const Entry& entry) const;
  SkipReason misses_goal(const Entry& entry) const;
  SkipReason bound_to_fail(const Entry& entry) const;
  std::vector<const Failure*> only_failures(const Entry& entry) const;
  std::vector<const Standing*> ranking() const;
  Standing* standing(const Candidate& candidate);
  size_t index_of(const Candidate& candidate) const;
  bool trials_left() const { return max_trials_ == 0 || trials_ < max_trials_; }

  Space space_;
  Goal goal_;
  int max_trials_;
  Strategy strategy_;
  int trials_ = 0;
  std::vector<State> state_;        // parallel to space_.entries
  std::vector<Standing> measured_;  // successful ones, in order of first measurement
  std::vector<Failure> failures_;
  std::vector<SkipCount> skipped_;
  Surrogate gains_;  // of ln(gain)
  Surrogate tails_;  // of ln(rows/s ÷ the baseline's), were every run as slow as the 99th percentile
  std::optional<size_t> like_baseline_;  // the entry that comes closest to the engine's defaults
  bool converged_ = false;               // nothing untried is worth measuring
  double limit_slack_ = 1;  // measured / limit where a measurement exceeded its limit; widens the other limits
};

}  // namespace ridge::tune
