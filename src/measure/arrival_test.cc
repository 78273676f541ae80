#include "measure/arrival.h"

#include <gtest/gtest.h>

namespace ridge::measure {
namespace {

TEST(ArrivalTimes, ConstantGapsDoNotDrift) {
  ArrivalTimes times(Arrival::kConstant, 1000, 1);
  EXPECT_EQ(times.next(), Nanoseconds(0));
  Nanoseconds last{};
  for (int i = 1; i <= 3000; ++i) last = times.next();
  EXPECT_EQ(last, std::chrono::seconds(3));
}

TEST(ArrivalTimes, PoissonGapsHaveTheMeanAndTheSpreadOfIndependentUsers) {
  ArrivalTimes times(Arrival::kPoisson, 100, 5);
  constexpr int kCount = 20000;
  double sum = 0, squares = 0, before = 0;
  for (int i = 0; i < kCount; ++i) {
    double at = to_seconds(times.next());
    sum += at - before;
    squares += (at - before) * (at - before);
    before = at;
  }
  double mean = sum / kCount;
  EXPECT_NEAR(mean, 0.01, 0.0003);
  EXPECT_NEAR(squares / kCount / (mean * mean), 2, 0.1);  // exponential: variance = mean²
}

TEST(ArrivalTimes, TheSameSeedGivesTheSameTimes) {
  ArrivalTimes one(Arrival::kPoisson, 10, 9), same(Arrival::kPoisson, 10, 9), other(Arrival::kPoisson, 10, 10);
  Nanoseconds first = one.next();
  EXPECT_EQ(first, same.next());
  EXPECT_NE(first, other.next());
}

}  // namespace
}  // namespace ridge::measure
