// Waiting in a queue in front of c equal servers, with Poisson arrivals. Pure.
//
//   M/M/c (service times exponential): exact.
//   M/D/c (equal service times, nearly true on fixed shapes): the mean by Cosmetatos' approximation, the tail as
//   α · e^(−ηt) with the exact decay rate η and α = η · mean; exact in η, close elsewhere.
//
// Sources: Erlang C: Gross, Shortle, Thompson, Harris, "Fundamentals of Queueing Theory", section 2.3; Cosmetatos,
// "Some approximate equilibrium results for the multi-server queue M/G/r", Operational Research Quarterly 27, 1976;
// tail: Abate, Choudhury, Whitt, "Exponential approximations for tail probabilities in queues, I", Operations Research
// 43(5), 1995.
#pragma once

#include <cstdint>

namespace ridge::sizing {

// In one unit of time throughout; `servers` ≥ 1, `service` > 0.
struct Queue {
  double arrivals = 0;  // per unit of time
  double service = 1;   // mean time of service
  int64_t servers = 1;
  double offered() const { return arrivals * service; }  // [erlang]
  double utilisation() const { return offered() / static_cast<double>(servers); }
  bool is_stable() const { return utilisation() < 1; }
};

// The probability that an arrival waits in M/M/c; 1 for an unstable queue.
double erlang_c(int64_t servers, double offered);

// Mean wait before service; infinite for an unstable queue.
double mean_wait_exponential(const Queue& queue);
double mean_wait_constant(const Queue& queue);

// The wait not exceeded by `share` (0.99) of the arrivals.
double wait_quantile_constant(const Queue& queue, double share);

}  // namespace ridge::sizing
