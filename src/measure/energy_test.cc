#include "measure/energy.h"

#include <gtest/gtest.h>

namespace ridge::measure {
namespace {

TimePoint at_seconds(double seconds) { return TimePoint(from_seconds(seconds)); }

// A counter with the value `joules`.
machine::EnergyMeter meter_of(const double& joules, double step_seconds) {
  return *machine::EnergyMeter::of_counters(
      {{"gpu", [&joules] { return Result<int64_t>(static_cast<int64_t>(joules * 1e6)); }, 0}}, step_seconds);
}

// 300 W at 1000 rows per second: 0.3 J per row.
TEST(EnergyOfLoad, IsMeanPowerOverRowsPerSecond) {
  double joules = 50;
  machine::EnergyMeter meter = meter_of(joules, 0.1);
  EnergyOfLoad energy(&meter, "");
  joules = 80;  // of the warm-up
  energy.begin(at_seconds(2));
  joules += 1500;
  const Energy taken = energy.end(at_seconds(7), 1000);
  EXPECT_EQ(taken.counters, "gpu");
  ASSERT_TRUE(taken.per_row_j);
  EXPECT_NEAR(*taken.power_w, 300, 1e-9);
  EXPECT_NEAR(*taken.per_row_j, 0.3, 1e-12);
}

TEST(EnergyOfLoad, OfARunThatTheCounterHardlySawIsNotMeasured) {
  double joules = 0;
  machine::EnergyMeter meter = meter_of(joules, 0.1);
  EnergyOfLoad energy(&meter, "");
  energy.begin(at_seconds(0));
  joules = 100;
  const Energy taken = energy.end(at_seconds(0.9), 1000);
  EXPECT_FALSE(taken.per_row_j);
  EXPECT_NE(taken.counters.find("at least 1 s"), std::string::npos) << taken.counters;
}

TEST(EnergyOfLoad, WithoutACounterSaysWhy) {
  EnergyOfLoad energy(nullptr, "no RAPL zone");
  energy.begin(at_seconds(0));
  EXPECT_EQ(energy.end(at_seconds(9), 1000).counters, "not measured: no RAPL zone");
}

}  // namespace
}  // namespace ridge::measure
