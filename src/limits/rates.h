// What a measured limit is made of: statistics of the rates that short bursts reached, and the rule by which rounds of
// bursts go on. Disturbance only ever makes a burst slower, so the best one counts; the spread tells how disturbed the
// machine was, not how wrong the limit is. Pure: fed with numbers, asks no clock.
#pragma once

#include <span>

namespace ridge::limits {

constexpr int kBurstsPerVisit = 8;
constexpr double kStillGrowing = 1.003;  // a metric that grew by more asks for further rounds
constexpr double kHopeless = 0.85;       // of the best, after the trial rounds: a kernel variant that cannot win

double best_rate(std::span<const double> rates);  // of a burst; 0 if there was none
// Mean of the better half of the bursts of the best visit: for what is shared with everything else on the machine, where
// a single burst may profit from a moment of which no program can make use.
double sustained_rate(std::span<const double> rates);
double typical_rate(std::span<const double> rates);  // median; 0 if there was none
// Half of the interquartile range over the median: bursts that lost the CPU do not count.
double spread_percent(std::span<const double> rates);
// The highest clock [Hz] among bursts within 3 % of `limit` or above: a disturbed observation only ever reads low.
// `clocks` is parallel to `rates`, 0 = could not be observed; 0 if none could.
double clock_at(double limit, std::span<const double> rates, std::span<const double> clocks);

// Rounds go on until no metric has grown for some rounds, or time is up; there is always one. One thread.
class RoundRule {
 public:
  RoundRule(int least_rounds, double most_seconds) : least_rounds_(least_rounds), most_seconds_(most_seconds) {}
  bool another(double seconds_used) const;
  // `grew`: a metric is more than kStillGrowing times what it was before the round.
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
