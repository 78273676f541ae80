#include "limits/burst.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "machine/probe.h"

namespace ridge::limits {
namespace {

Candidate with_rates(std::vector<double> rates, std::vector<double> clocks) {
  Candidate candidate;
  candidate.rates = std::move(rates);
  candidate.clocks = std::move(clocks);
  return candidate;
}

TEST(Candidate, BestBurstIsItsRate) {
  EXPECT_EQ(with_rates({3, 9, 5}, {1, 1, 1}).best_rate(), 9);
  EXPECT_EQ(with_rates({}, {}).best_rate(), 0);
}

TEST(Candidate, SustainedRateIsTheBetterHalfOfTheBestVisit) {
  Candidate candidate = with_rates({8, 8, 8, 8, 1, 1, 1, 1, 20, 2, 2, 2, 2, 2, 2, 2}, std::vector<double>(16, 1));
  candidate.sustained = true;
  EXPECT_EQ(candidate.best_rate(), 8);
}

TEST(Candidate, ClockIsTheHighestAmongTheBestBursts) {
  EXPECT_EQ(with_rates({100, 98, 50}, {3.0, 3.5, 4.0}).clock_hz(), 3.5);
  EXPECT_EQ(with_rates({}, {}).clock_hz(), 0);
}

TEST(Candidate, SpreadIgnoresSingleLostBursts) {
  EXPECT_DOUBLE_EQ(with_rates({100, 100, 100, 100, 100, 100, 100, 1}, std::vector<double>(8, 1)).spread_percent(), 0);
  EXPECT_DOUBLE_EQ(with_rates({90, 100, 110, 120}, std::vector<double>(4, 1)).spread_percent(), 100 * 20.0 / 110 / 2);
}

TEST(Visit, CountsTheWorkOfAllMembersOverTheTimeTheyShare) {
  int cpu = machine::probe()->cpu.core_cpus.front();
  auto workers = PinnedThreads::gather({cpu, cpu}, {0, 0});
  ASSERT_TRUE(workers.ok());
  Candidate candidate;
  candidate.units_per_repeat = 10;
  candidate.repeats = 1;
  candidate.warm_up = 0;
  candidate.work = [](PinnedThreads::Worker&, int64_t repeats) {
    for (TimePoint start = SteadyClock::now();
         repeats > 0 && SteadyClock::now() - start < std::chrono::milliseconds(2);) {
    }
  };
  visit(**workers, 2, candidate);
  ASSERT_EQ(candidate.rates.size(), static_cast<size_t>(kBurstsPerVisit));
  EXPECT_LE(candidate.best_rate(), 2 * 10 / 2e-3);
  EXPECT_GT(candidate.best_rate(), 0);
}

}  // namespace
}  // namespace ridge::limits
