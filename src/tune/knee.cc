#include "tune/knee.h"

#include <algorithm>
#include <cmath>

namespace ridge::tune {
namespace {

constexpr double kExponent = 10;  // r: a doubling of the latency must bring 7 % of throughput
// Wider intervals tell nothing; the estimates are then the better guide.
constexpr double kMostGivenUp = 0.1;  // of ln(throughput)

}  // namespace

double log_power(double log_rate, double latency) { return log_rate - std::log(latency) / kExponent; }

double power_per_rate() { return 1 + 1 / kExponent; }

std::optional<size_t> knee(std::span<const TradeOff> all) {
  if (all.empty()) return std::nullopt;
  auto power = [&](size_t i) { return log_power(all[i].log_rate, all[i].latency); };
  size_t most = 0;
  for (size_t i = 1; i < all.size(); ++i)
    if (power(i) > power(most)) most = i;
  size_t chosen = most;
  for (size_t i = 0; i < all.size(); ++i) {
    const double apart = std::min(std::hypot(all[i].half_width, all[most].half_width), kMostGivenUp);
    if (power(i) < power(most) - apart) continue;
    const bool sooner = all[i].latency < all[chosen].latency;
    if (sooner || (all[i].latency == all[chosen].latency && all[i].log_rate > all[chosen].log_rate)) chosen = i;
  }
  return chosen;
}

}  // namespace ridge::tune
