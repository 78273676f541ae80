#include "sizing/queueing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ridge::sizing {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

double count(int64_t servers) { return static_cast<double>(servers); }

// P(wait > t) = start · e^(−decay · t): the t at which `1 − share` is left.
double quantile(double start, double decay, double share) {
  double left = 1 - share;
  return start <= left ? 0 : std::log(start / left) / decay;
}

// The η > 0 with e^(η · service / servers) = 1 + η / arrivals: the decay rate of M/D/c's tail. By bisection of f(x) =
// e^x − 1 − x / ρ, x = η · service / servers, which is negative from 0 to its only other zero.
double decay_constant(const Queue& queue) {
  double load = queue.utilisation();
  auto above = [&](double x) { return std::expm1(x) > x / load; };
  double low = std::log(1 / load), high = low;  // f falls until here
  while (!above(high)) high = 2 * high + 1e-12;
  for (int step = 0; step < 100; ++step) {
    double middle = (low + high) / 2;
    (above(middle) ? high : low) = middle;
  }
  return high * count(queue.servers) / queue.service;
}

}  // namespace

double erlang_c(int64_t servers, double offered) {
  double c = count(servers);
  if (offered >= c) return 1;
  double blocked = 1;  // Erlang B, by its recursion over the servers
  for (int64_t k = 1; k <= servers; ++k) blocked = offered * blocked / (count(k) + offered * blocked);
  return blocked / (1 - offered / c * (1 - blocked));
}

double mean_wait_exponential(const Queue& queue) {
  if (!queue.is_stable()) return kForever;
  return erlang_c(queue.servers, queue.offered()) * queue.service / (count(queue.servers) - queue.offered());
}

double mean_wait_constant(const Queue& queue) {
  if (!queue.is_stable()) return kForever;
  double c = count(queue.servers), load = queue.utilisation();
  if (load <= 0) return 0;
  double factor = 1 + (1 - load) * (c - 1) * (std::sqrt(4 + 5 * c) - 2) / (16 * load * c);
  // Few arrivals at many servers: the factor diverges there, but waits of equal services are shorter.
  return std::min(1.0, factor / 2) * mean_wait_exponential(queue);
}

double wait_quantile_constant(const Queue& queue, double share) {
  if (!queue.is_stable()) return kForever;
  if (queue.arrivals <= 0) return 0;
  double decay = decay_constant(queue);
  return quantile(std::min(1.0, decay * mean_wait_constant(queue)), decay, share);
}

}  // namespace ridge::sizing
