// Search: chooses the next candidate, when to stop, and the best. Fed with numbers; reads no clock, knows no engine.
//
// Explore: measures the candidate with the highest expected improvement over the best (tune/surrogate.h), until that is
// less than a measurement is worth. Refine: measures the contenders again, for longer, until they can be told apart. A
// candidate is judged by its gain over the interleaved baseline, so that slow changes of a shared machine cancel. A
// candidate is skipped and counted if its physical limit is below a measured result, if a smaller batch misses the p99
// goal, or if a smaller one failed. Anytime: best() may be called after any report(). The same reports give the same
// choices. One thread.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/figure.h"
#include "measure/interval.h"
#include "tune/effort.h"
#include "tune/figures.h"
#include "tune/space.h"
#include "tune/surrogate.h"

namespace ridge::tune {

// The result of one measurement of a candidate interleaved with the baseline.
struct Outcome {
  std::vector<double> gains;  // per round: ln(objective of the candidate / of the baseline); > 0 = better
  Figures candidate, baseline;
  std::string failure;                  // not empty: why the candidate cannot run
  std::vector<double> rate_gains = {};  // per round: ln(rows/s of the candidate / of the baseline); empty: as `gains`
};

// The gain with its 95 % confidence interval, as ratios to the baseline.
struct Gain {
  double ratio = 1;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();  // with fewer than two rounds: unknown
};
void visit_fields(auto& visit, Is<Gain> auto& gain) {
  visit("ratio", gain.ratio, above(0));
  visit.optional("low", gain.low);
  visit.optional("high", gain.high, means("null: fewer than two rounds").or_null());
}
Gain gain_of(std::span<const double> log_ratios);
// Its 95 % interval, to stand behind the ratio: " (95 % CI 5.74–11.4)"; " (uncertain)" where the ends are more than a
// factor of ten apart; empty where they are not known. `label`: what precedes the ends.
std::string ends_text(const Gain& gain, std::string_view label = "95 % CI ");
inline constexpr Gain kNoGain{1, 1, 1};  // of the baseline: over itself
// Better with confidence: the whole interval is above 1, and its ends are not more than a factor of ten apart.
bool is_sure(const Gain& gain);

// Everything known about a measured candidate.
struct Standing {
  Candidate candidate;
  Outcome outcome;  // all its measurements together: gains in order, the rest weighted by samples
  Gain gain;
  PricedCandidate entry;  // its limits and memory, as the space derived them
  bool feasible = true;   // meets the goal's limits
  int trials = 0;
  double closeness = std::numeric_limits<double>::infinity();  // to these: 1 or more = met
  Gain rate = {};                                              // of rows per second
  bool undecided = false;  // the goal lies within the interval of what it judges (load_goal.h)
  measure::Interval rows_per_s_ci95() const;
};
// Fields of a point of a tuning result.
void visit_fields(auto& visit, Is<Standing> auto& standing) {
  auto& figures = standing.outcome.candidate;
  visit_fields(visit, standing.candidate);
  visit.derived("text", Derived{describe(standing.candidate), means("the candidate, for people")});
  visit("throughput_per_s", figures.rows_per_s,
        means("rows: the gain times the baseline's throughput in the final measurement, so that all points are of one "
              "speed of the machine (latencies likewise); of the best as measured"));
  measure::Interval ends = standing.rows_per_s_ci95();
  visit.optional("throughput_ci95_per_s", ends);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(standing)>>)  // read back
    if (ends.low && ends.high && figures.rows_per_s > 0)
      standing.rate = {1, *ends.low / figures.rows_per_s, *ends.high / figures.rows_per_s};
  visit_latency(visit, figures);
  visit("gain", standing.gain);
  visit.optional("meets_goal", standing.feasible);
  visit.optional("undecided", standing.undecided, means("the goal lies within the interval of the p99 that it judges"));
  visit.optional("samples", figures.samples);
  visit.optional("memory_bytes", standing.entry.memory_bytes,
                 means("derived: weights and live activations of all instances"));
  visit.optional("bound_ms", standing.entry.bound_ms, means("0: no limit is known"));
  visit.optional("limit_per_s", standing.entry.max_rows_per_s, means("rows; 0: no limit is known"));
  visit.unless_empty("joules_per_row", figures.joules_per_row, means("where it was measured"));
}

// The next measurement of a search for the best `Candidate`.
template <typename Candidate>
struct ProbeOf {
  Candidate candidate;
  Effort effort = Effort::kShort;
  int ordinal = 0;  // how often this candidate was measured before
};
using Probe = ProbeOf<Candidate>;

// kFull measures every entry of the space in order, and then the contenders more often than kQuick does: the reference
// for kQuick.
enum class Strategy { kQuick, kFull };

class Search {
 public:
  // `max_trials` 0 = no limit.
  Search(Space space, const Goal& goal, int max_trials = 0, Strategy strategy = Strategy::kQuick);

  // The next measurement, or nothing when more would not help. `spent` is the used share of the time budget, 0…1: from
  // 0.75 on (likewise of the trials) only contenders are measured again, from 1 on nothing.
  std::optional<Probe> next(double spent);
  void report(const Candidate& candidate, const Outcome& outcome);
  // Excludes a measured candidate, e.g. because a confirmation failed.
  void withdraw(const Candidate& candidate, const SkipReason& reason);

  // Among those that meet the goal's limits the candidate with the highest lower bound of its gain, or the knee where
  // latency weighs as well; else the closest one (feasible = false). Absent before the first successful measurement.
  std::optional<Standing> best() const;
  const std::vector<Standing>& measured() const { return measured_; }
  // Candidates that were not measured, with reason and count, including those never considered.
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
  bool settled(const std::optional<double>& best, const Standing* leader) const;
  std::optional<size_t> first_untried() const;
  std::optional<Probe> refine();
  void learn();
  std::optional<double> best_expected() const;
  std::optional<double> closest_expected() const;
  double expected_gain(size_t index, const std::optional<double>& best, const std::optional<double>& closest) const;
  double likely_feasible(size_t index) const;
  bool balanced() const { return goal_.objective == Objective::kBalanced; }
  double worth(const Standing& standing) const;
  Posterior worth(size_t index) const;
  Posterior closeness(size_t index) const;
  const Standing* best_measured() const;  // best(), in measured_; null: none
  const Standing* knee_of_feasible() const;
  std::vector<const Standing*> eligible() const;
  SkipReason cannot_win(const PricedCandidate& entry, const Standing* leader) const;  // `leader`: best_measured()
  SkipReason misses_goal(const PricedCandidate& entry) const;
  SkipReason bound_to_fail(const PricedCandidate& entry) const;
  std::vector<const Failure*> only_failures(const PricedCandidate& entry) const;
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
  Surrogate tails_;  // of ln(rows/s ÷ the baseline's), as if every run were as slow as the 99th percentile
  std::optional<size_t> like_baseline_;  // the entry closest to the engine's defaults
  bool converged_ = false;               // nothing untried is worth measuring
  double limit_slack_ = 1;  // measured / limit where a measurement exceeded its limit; widens the other limits
};

}  // namespace ridge::tune
