#include "power/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/fake_clock.h"
#include "power/test_power_control.h"

namespace ridge::power {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CurvePoint point(double limit_w, double rate, double power_w) {
  CurvePoint made;
  made.limit_mw = static_cast<int64_t>(limit_w * 1000);
  made.rate = rate;
  made.relative = {rate / 100, rate / 100 - 0.005, rate / 100 + 0.005};
  made.power_w = power_w;
  return made;
}

// A GPU of 450 W that follows the handbook (L18): 96 % at 335 W, 85 % at 270 W.
std::vector<CurvePoint> handbook_gpu() {
  return {point(450, 100, 445), point(400, 99, 396), point(335, 96, 332), point(270, 85, 268), point(200, 62, 199)};
}

TEST(SweetSpots, AreTheMostWorkPerJouleAndTheLowestLimitNearThePeak) {
  std::vector<CurvePoint> points = handbook_gpu();
  SweetSpots spots = sweet_spots(points);
  EXPECT_EQ(points[*spots.best_per_watt].limit_mw,
            270000);                                  // 85 / 268 = 0.317 beats 62 / 199 = 0.312, 96 / 332 = 0.289
  EXPECT_EQ(points[*spots.within].limit_mw, 335000);  // 96 ≥ 95 > 85
  EXPECT_FALSE(sweet_spots({}).within);
  EXPECT_FALSE(sweet_spots(std::vector{point(300, 10, 0)}).best_per_watt) << "power is not known";
}

TEST(PowerClaim, HoldsForTheGpuThatItSpeaksOf) {
  const measure::Claim claim = measure::find_claim(measure::claims().value(), "L18").value();
  std::vector<ClaimVerdict> verdicts = judge_power_claim(claim, handbook_gpu(), 450000);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].verdict, measure::Judgement::kConfirmed) << verdicts[0].measured->value;
  EXPECT_EQ(verdicts[1].verdict, measure::Judgement::kConfirmed);
  std::vector<CurvePoint> robust = handbook_gpu();
  for (CurvePoint& one : robust) one.relative = {0.995, 0.99, 1.0};
  EXPECT_EQ(judge_power_claim(claim, robust, 450000)[0].verdict, measure::Judgement::kSmaller)
      << "it costs less than 3 %";
  EXPECT_EQ(judge_power_claim(claim, robust, 450000)[1].verdict, measure::Judgement::kLarger)
      << "it keeps more than 85 %";
}

TEST(PowerClaim, IsNotTestableWhereNoLimitHeldTheLoadBack) {
  const measure::Claim claim = measure::find_claim(measure::claims().value(), "L18").value();
  std::vector<CurvePoint> idle = handbook_gpu();
  for (CurvePoint& one : idle) one.power_w = 60;
  EXPECT_EQ(judge_power_claim(claim, idle, 450000)[0].verdict, measure::Judgement::kNotTestable);
  EXPECT_THAT(judge_power_claim(claim, idle, 450000)[0].reason, HasSubstr("no limit slowed it"));
  std::vector<CurvePoint> high = {point(450, 100, 445), point(400, 99, 396)};
  EXPECT_THAT(judge_power_claim(claim, high, 450000)[0].reason, HasSubstr("outside the measured limits"));
}

TEST(PowerCurve, IsAStraightLineBetweenItsPoints) {
  std::vector<CurvePoint> points = handbook_gpu();
  EXPECT_NEAR(relative_at(points, 302500)->value, 0.905, 1e-9);  // half-way between 85 and 96 %
  EXPECT_NEAR(relative_at(points, 270000)->value, 0.85, 1e-9);
  EXPECT_FALSE(relative_at(points, 199999));
}

TEST(PowerCurve, LimitsAreEquallySpacedWithTheDefaultAmongThem) {
  EXPECT_THAT(limits_between(200000, 600000, 5, 450000), ElementsAre(600000, 500000, 450000, 400000, 300000, 200000));
  EXPECT_THAT(limits_between(100000, 200000, 4, 450000), ElementsAre(200000, 167000, 133000, 100000));
}

TEST(PowerWorkload, IsDoneUntilTheSliceIsOver) {
  FakeClock clock;
  const auto once = [&] {
    clock.advance(std::chrono::milliseconds(300));
    return Status();
  };
  EXPECT_DOUBLE_EQ(*rate_of(std::chrono::seconds(1), 6, once, clock), 4 * 6 / 1.2);
  EXPECT_DOUBLE_EQ(*rate_of(std::chrono::milliseconds(1), 6, once, clock), 6 / 0.3);  // at least once
  EXPECT_FALSE(rate_of(std::chrono::seconds(1), 1, [] { return Status(Error{Code::kFailed, "lost"}); }, clock));
}

TEST(SweepOptionsOf, AreTheDevicesRangeOrWhatLiesWithinIt) {
  PlayedGpu::Values values;
  State state = *PlayedGpu(values).state();  // 100 to 600 W, 450 by default
  Result<SweepOptions> options = sweep_options(state, "it", {}, {}, 3);
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_THAT(options->limits_mw, ElementsAre(600000, 450000, 350000, 100000));
  EXPECT_EQ(options->default_limit_mw, 450000);
  options = sweep_options(state, "it", 200000, 300000, 2);
  ASSERT_TRUE(options);
  EXPECT_THAT(options->limits_mw, ElementsAre(300000, 200000));
  EXPECT_EQ(sweep_options(state, "it", 300000, 300000, 2).error().code, Code::kInvalid);
  EXPECT_EQ(sweep_options(state, "it", 50000, 300000, 2).error().code, Code::kInvalid);
  EXPECT_EQ(sweep_options(state, "it", {}, 700000, 2).error().code, Code::kInvalid);
  state.limit_default_mw = gpu::Reading<int64_t>{};
  EXPECT_EQ(sweep_options(state, "it", 200000, 300000, 2)->default_limit_mw, 300000);
  state.limit_min_mw = gpu::Reading<int64_t>{};
  EXPECT_EQ(sweep_options(state, "it", {}, {}, 2).error().code, Code::kUnsupported);
}

// The fake GPU on a fake clock: a slice takes exactly its time.
class PowerSweep : public ::testing::Test {
 protected:
  // `rate` by the slice's number from 0, and its limit.
  Workload workload(std::function<double(int slice)> rate) {
    return {"played", "items", [this, rate = std::move(rate)](Nanoseconds slice) -> Result<double> {
              clock_.sleep_for(slice);
              return rate(slices_++);
            }};
  }
  Result<Sweep> run(const Workload& workload) { return sweep(gpu_, workload, options_, clock_); }

  FakeClock clock_;
  PlayedGpu::Values values_;
  PlayedGpu gpu_{values_, "GPU-played", clock_};
  SweepOptions options_;
  int slices_ = 0;
};

// Performance as the square root of the limit on a device that slows down from slice to slice: two in three visits of a
// limit, over a random order and its reverse.
TEST_F(PowerSweep, MeasuresTheCurveThroughADrift) {
  options_.limits_mw = {600000, 450000, 300000, 150000};
  options_.default_limit_mw = 450000;
  options_.most_time = std::chrono::seconds(20);
  options_.min_rounds = 8;
  const Result<Sweep> swept = run(
      workload([&](int slice) { return std::pow(0.999, slice) * std::sqrt(static_cast<double>(values_.limit_mw)); }));
  ASSERT_TRUE(swept) << swept.error().message;
  ASSERT_EQ(swept->points.size(), 4u);
  EXPECT_TRUE(swept->converged);
  EXPECT_EQ(swept->rounds, 8);
  EXPECT_EQ(swept->reference_limit_mw, 450000);
  EXPECT_NEAR(swept->points[0].relative.value, std::sqrt(600.0 / 450), 1e-9) << "what drifts steadily cancels";
  EXPECT_NEAR(swept->points[3].relative.value, std::sqrt(150.0 / 450), 1e-9);
  EXPECT_DOUBLE_EQ(swept->points[3].power_w, 150);
  EXPECT_EQ(swept->points[*swept->spots.best_per_watt].limit_mw, 150000);
  EXPECT_EQ(swept->power_origin, "samples of the power");
  EXPECT_EQ(swept->claims.size(), 2u);
}

TEST_F(PowerSweep, EndsEarlyWhereEveryRateIsKnown) {
  options_.limits_mw = {450000, 300000};
  options_.default_limit_mw = 450000;
  options_.most_time = std::chrono::seconds(100);
  const TimePoint begin = clock_.now();
  const Result<Sweep> swept = run(workload([](int) { return 5.0; }));
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_TRUE(swept->converged);
  EXPECT_EQ(swept->rounds, 5);
  EXPECT_NEAR(to_seconds(clock_.now() - begin), 50, 1) << "half of the time for the fewest rounds";
}

// A sample of the device takes 120 ms, in which its counter continues: over the slice of 200 ms alone it would be 160
// W.
TEST_F(PowerSweep, PowerIsWhatTheCounterGainedOverTheTimeThatItRan) {
  values_.counts_mw = 100000;
  values_.look_takes = std::chrono::milliseconds(120);
  options_.limits_mw = {450000};
  options_.min_rounds = 1;
  options_.most_time = std::chrono::milliseconds(480);
  const Result<Sweep> swept = run(workload([](int) { return 1.0; }));
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_EQ(swept->power_origin, "energy counter");
  EXPECT_NEAR(swept->points[0].power_w, 100, 0.01) << "the counter's steps of a millijoule";
}

TEST_F(PowerSweep, ALostDeviceEndsIt) {
  values_.changes_left = 3;
  options_.limits_mw = {450000, 300000};
  options_.default_limit_mw = 450000;
  const Result<Sweep> swept = run(workload([](int) { return 1.0; }));
  ASSERT_FALSE(swept);
  EXPECT_THAT(swept.error().message, HasSubstr("is lost"));
}

TEST_F(PowerSweep, AnInterruptedOneKeepsItsWholeRounds) {
  options_.limits_mw = {450000, 300000};
  options_.default_limit_mw = 450000;
  options_.interrupted = [&] { return slices_ >= 10; };  // two visits of a limit are four slices: in the third round
  const Result<Sweep> swept = run(workload([](int) { return 5.0; }));
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_TRUE(swept->interrupted);
  EXPECT_EQ(swept->rounds, 2);
}

}  // namespace
}  // namespace ridge::power
