// Statistics of the rates that short bursts reached, and the rule for further rounds of bursts. Disturbance only slows
// a burst down, so the best one counts; the spread shows how disturbed the machine was, not the error of the limit.
// Pure: fed with numbers, reads no clock.
#pragma once

#include <span>

namespace ridge::limits {

constexpr int kBurstsPerVisit = 8;
constexpr double kStillGrowing = 1.003;  // a metric that grew by more needs further rounds
constexpr double kHopeless = 0.85;       // of the best, after the trial rounds: a kernel variant that cannot win

double best_rate(std::span<const double> rates);  // of a burst; 0 if there was none
// Mean of the better half of the bursts of the best visit: for resources shared with the whole machine, where a single
// burst may profit from a moment that no program can use.
double sustained_rate(std::span<const double> rates);
double typical_rate(std::span<const double> rates);  // median; 0 if there was none
// Half of the interquartile range over the median: bursts that lost the CPU do not count.
double spread_percent(std::span<const double> rates);
// The highest clock [Hz] among bursts within 3 % of `limit` or above: a disturbed observation only reads low. `clocks`
// is parallel to `rates`, 0 = not observable; 0 if none is.
double clock_at(double limit, std::span<const double> rates, std::span<const double> clocks);

// Rounds continue until no metric has grown for some rounds, or time is up; at least one. From the third on a round is
// begun only where one as long as those before ends in time. One thread.
class RoundRule {
 public:
  RoundRule(int least_rounds, double most_seconds) : least_rounds_(least_rounds), most_seconds_(most_seconds) {}
  bool another(double seconds_used) const;
  // `grew`: a metric is more than kStillGrowing times its value before the round.
  void round_done(bool grew);
  bool trial_over() const { return rounds_ >= kTrialRounds; }  // variants that cannot win may be dropped
  double share_done(double seconds_used, double share_of_round) const;

 private:
  static constexpr int kQuietRounds = 3;
  static constexpr int kTrialRounds = 2;
  int least_rounds_;
  double most_seconds_;
  int rounds_ = 0;
  int quiet_ = 0;  // rounds since a metric grew
};

}  // namespace ridge::limits
