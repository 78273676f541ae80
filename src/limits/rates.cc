#include "limits/rates.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

namespace ridge::limits {

double best_rate(std::span<const double> rates) {
  return rates.empty() ? 0 : *std::max_element(rates.begin(), rates.end());
}

double sustained_rate(std::span<const double> rates) {
  constexpr int kHalf = kBurstsPerVisit / 2;
  double best = 0;
  for (size_t visit = 0; visit + kBurstsPerVisit <= rates.size(); visit += kBurstsPerVisit) {
    std::span<const double> of_visit = rates.subspan(visit, kBurstsPerVisit);
    std::vector<double> bursts(of_visit.begin(), of_visit.end());
    std::sort(bursts.begin(), bursts.end(), std::greater<>());
    best = std::max(best, std::accumulate(bursts.begin(), bursts.begin() + kHalf, 0.0) / kHalf);
  }
  return best;
}

double typical_rate(std::span<const double> rates) {
  if (rates.empty()) return 0;
  std::vector<double> sorted(rates.begin(), rates.end());
  auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

double spread_percent(std::span<const double> rates) {
  if (rates.empty()) return 0;
  std::vector<double> sorted(rates.begin(), rates.end());
  std::sort(sorted.begin(), sorted.end());
  size_t count = sorted.size();
  return 100 * (sorted[count * 3 / 4] - sorted[count / 4]) / sorted[count / 2] / 2;
}

double clock_at(double limit, std::span<const double> rates, std::span<const double> clocks) {
  double highest = 0;
  for (size_t i = 0; i < rates.size() && i < clocks.size(); ++i)
    if (rates[i] >= 0.97 * limit) highest = std::max(highest, clocks[i]);
  return highest;
}

bool RoundRule::another(double seconds_used) const {
  if (rounds_ == 0) return true;
  const double with_another = trial_over() ? seconds_used * (1 + 1.0 / rounds_) : seconds_used;
  return with_another < most_seconds_ && (rounds_ < least_rounds_ || quiet_ < kQuietRounds);
}

void RoundRule::round_done(bool grew) {
  ++rounds_;
  quiet_ = grew ? 0 : quiet_ + 1;
}

double RoundRule::share_done(double seconds_used, double share_of_round) const {
  double by_rounds = (rounds_ + share_of_round) / (least_rounds_ + kQuietRounds);
  return std::min(0.99, std::max(seconds_used / most_seconds_, by_rounds));
}

}  // namespace ridge::limits
