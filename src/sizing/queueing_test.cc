#include "sizing/queueing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace ridge::sizing {
namespace {

TEST(ErlangC, EyeClinicOfGrossAndHarris) {
  // "Fundamentals of Queueing Theory", example of the M/M/3 eye clinic: 6 patients per hour, tests of 20 minutes, 3
  // doctors. p0 = 1/9, mean number waiting 8/9, so C = 4/9; a patient spends 28.9 minutes.
  EXPECT_NEAR(erlang_c(3, 2), 4.0 / 9, 1e-12);
  Queue clinic{6.0 / 60, 20, 3};  // in minutes
  EXPECT_NEAR(mean_wait_exponential(clinic) * 6 / 60, 8.0 / 9, 1e-12);
  EXPECT_NEAR(mean_wait_exponential(clinic) + 20, 28.9, 0.02);
}

TEST(ErlangC, OneServerWaitsAsOftenAsItIsBusy) {
  for (double load : {0.1, 0.5, 0.9, 0.999}) EXPECT_NEAR(erlang_c(1, load), load, 1e-12);
  EXPECT_EQ(erlang_c(4, 0), 0);
  EXPECT_EQ(erlang_c(4, 4), 1);
}

TEST(ErlangC, StaysFiniteWithThousandsOfServers) {
  double wait = erlang_c(10000, 9900);
  EXPECT_GT(wait, 0);
  EXPECT_LT(wait, 1);
}

TEST(WaitConstant, MeanOfOneServerIsPollaczekKhinchine) {
  // M/D/1: ρ / (2 (1 − ρ)) services: half of M/M/1. Exact for one server.
  for (double load : {0.2, 0.5, 0.9})
    EXPECT_NEAR(mean_wait_constant({load, 1, 1}), load / (2 * (1 - load)), 1e-12) << load;
}

TEST(WaitConstant, IsEndlessWhenOverloaded) {
  EXPECT_TRUE(std::isinf(mean_wait_constant({3, 1, 3})));
  EXPECT_TRUE(std::isinf(wait_quantile_constant({4, 1, 3}, 0.99)));
}

// Slow and independent: customers one after another, each taking the first free server.
double simulated_quantile(const Queue& queue, double share) {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> gap(queue.arrivals);
  std::vector<double> free(static_cast<size_t>(queue.servers), 0), waits;
  double now = 0;
  constexpr int kCustomers = 400000;
  waits.reserve(kCustomers);
  for (int i = 0; i < kCustomers; ++i) {
    now += gap(random);
    auto first = std::min_element(free.begin(), free.end());
    double begin = std::max(now, *first);
    *first = begin + queue.service;
    waits.push_back(begin - now);
  }
  auto at = waits.begin() + static_cast<std::ptrdiff_t>(share * kCustomers);
  std::nth_element(waits.begin(), at, waits.end());
  return *at;
}

TEST(WaitConstant, QuantileAgreesWithASimulation) {
  // Within 15 % and a tenth of a service time (the tail is asymptotic; short waits are not exponential).
  for (int64_t servers : {1, 2, 4, 16})
    for (double load : {0.5, 0.7, 0.9}) {
      Queue queue{load * static_cast<double>(servers), 1, servers};
      double simulated = simulated_quantile(queue, 0.99);
      EXPECT_NEAR(wait_quantile_constant(queue, 0.99), simulated, 0.1 + 0.15 * simulated)
          << servers << " servers, load " << load;
    }
}

}  // namespace
}  // namespace ridge::sizing
