// The knee: the candidate to take where no goal weighs throughput against latency.
//
// It has the greatest power, throughput^r / latency (Kleinrock, "Power and deterministic rules of thumb for
// probabilistic problems in computer communications", ICC 1979, with Gail and Kleinrock's exponent r): one more per
// cent of throughput is worth up to r per cent of latency, at every scale. Among those whose power cannot be told apart
// from the greatest, the lowest latency. docs/decisions/0014 says why, and why r = 10. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace ridge::tune {

struct TradeOff {
  double log_rate = 0;    // ln of the throughput
  double half_width = 0;  // of its 95 % interval
  double latency = 0;     // 99th percentile; above 0
};

// ln of the power, per r: ln(throughput) − ln(latency) / r.
double log_power(double log_rate, double latency);
// Change of ln(power) with ln(throughput) at constant rows in flight: latency falls as throughput rises.
double power_per_rate();

// The index of the chosen one; absent if there are none.
std::optional<size_t> knee(std::span<const TradeOff> all);

}  // namespace ridge::tune
