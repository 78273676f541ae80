#include "measure/interleave.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/fake_clock.h"

namespace ridge::measure {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Result<std::vector<Slice>> at_rate(double rate) { return std::vector{Slice{.rate = rate}}; }

Arm arm(const std::string& name, std::function<double()> rate) {
  return {name, [rate = std::move(rate)] { return at_rate(rate()); }};
}

InterleaveOptions rounds(int64_t count) {
  InterleaveOptions options;
  options.stop = {.half_width_percent = 0, .max_samples = count};
  return options;
}

TEST(Interleave, RatioAndIntervalOfAWorkedExample) {
  // Ratios 2 and 8: logarithms ln 2 and ln 8, mean ln 4, deviation ln 4 / √2, t(0.975, 1) = 12.706.
  const std::vector<Round> seen = {{{{.rate = 1}}, {{.rate = 2}}}, {{{.rate = 10}}, {{.rate = 80}}}};
  const Comparison comparison = comparison_of(std::vector<Arm>{{"a", {}}, {"b", {}}}, seen, 0.95);
  ASSERT_EQ(comparison.arm_results.size(), 2u);
  EXPECT_DOUBLE_EQ(comparison.arm_results[0].ratio.value, 1);
  EXPECT_DOUBLE_EQ(comparison.arm_results[0].ratio.high, 1);
  EXPECT_NEAR(comparison.arm_results[1].ratio.value, 4, 1e-12);
  const double half = 12.7062 * std::log(4) / std::sqrt(2) / std::sqrt(2);
  EXPECT_NEAR(std::log(comparison.arm_results[1].ratio.high / 4), half, 1e-3);
  EXPECT_DOUBLE_EQ(comparison.arm_results[1].rate, 41);
}

// A machine that becomes three times slower half way through would reverse a comparison in blocks.
TEST(Interleave, WhatDisturbsEveryoneCancels) {
  FakeClock clock;
  int slices = 0;
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(1, 0.01);
  auto at_speed = [&](const std::string& name, double speed) {
    return arm(name, [&, speed] { return speed * noise(random) / (++slices > 10 ? 3 : 1); });
  };
  InterleaveOptions options;
  options.stop.min_samples = 10;
  const Result<Comparison> result = compare(std::vector{at_speed("a", 100), at_speed("b", 110)}, options, clock);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->converged);
  EXPECT_GE(result->rounds, 10);
  EXPECT_NEAR(result->arm_results[1].ratio.value, 1.1, 0.02);
  EXPECT_LT(result->arm_results[1].ratio.low, result->arm_results[1].ratio.value);
}

// Every slice is 1 % slower than the previous one: of two equal arms, the second of each round would lose 1 %.
TEST(Interleave, ASteadyChangeCancelsOverTwoRounds) {
  FakeClock clock;
  double speed = 1;
  const Arm same = arm("", [&] { return speed *= 0.99; });
  const InterleavedResult result = interleave(std::vector{same, same, same}, rounds(4), clock);
  for (size_t other : {1, 2}) EXPECT_NEAR(ratio_of(log_ratios(result.rounds, other), 0.95).value, 1, 1e-12);
}

TEST(Interleave, OrdersAreRandomAndEverySecondIsTheReverse) {
  FakeClock clock;
  std::string order;
  std::vector<Arm> arms;
  for (char name : {'a', 'b', 'c'}) arms.push_back(arm({}, [&order, name] { return order += name, 1.0; }));
  interleave(arms, rounds(16), clock);
  ASSERT_EQ(order.size(), 48u);
  std::set<std::string> seen;
  for (size_t at = 0; at < order.size(); at += 6) {
    const std::string first = order.substr(at, 3), second = order.substr(at + 3, 3);
    EXPECT_EQ(second, std::string(first.rbegin(), first.rend()));
    seen.insert(first);
  }
  EXPECT_GT(seen.size(), 2u);
}

TEST(Interleave, EndsWithTheTimeOrTheNumberOfRounds) {
  FakeClock clock;
  const std::vector<Arm> arms = {arm("a", [&] { return clock.sleep_for(seconds(1)), 1.0; }),
                                 arm("b", [&] { return clock.sleep_for(seconds(2)), 1.0; })};
  InterleaveOptions options = rounds(100);
  options.stop.max_time = milliseconds(8500);
  InterleavedResult result = interleave(arms, options, clock);
  EXPECT_EQ(result.rounds.size(), 3u) << "of 3 s each";
  EXPECT_EQ(result.verdict, Verdict::kSpent);
  options.stop.sure_samples = 5;
  EXPECT_EQ(interleave(arms, options, clock).rounds.size(), 5u);
  EXPECT_EQ(interleave(arms, rounds(2), clock).rounds.size(), 2u);
  EXPECT_EQ(interleave(arms, {}, clock).verdict, Verdict::kConverged) << "always the same rates";
}

TEST(Interleave, AnArmThatFailsEndsItAndIsNamed) {
  FakeClock clock;
  int calls = 0;
  const Arm broken{"two instances", [&]() -> Result<std::vector<Slice>> {
                     if (++calls == 3) return Error{Code::kFailed, "out of memory"};
                     return at_rate(1);
                   }};
  const std::vector<Arm> arms = {arm("one", [] { return 1.0; }), broken};
  const InterleavedResult result = interleave(arms, rounds(10), clock);
  EXPECT_EQ(result.failed_arm, 1u);
  EXPECT_EQ(result.rounds.size(), 2u) << "what was whole stays";
  calls = 2;
  EXPECT_EQ(compare(arms, rounds(10), clock).error().message, "two instances: out of memory");
  EXPECT_EQ(compare(std::vector{arm("idle", [] { return 0.0; })}, {}, clock).error().code, Code::kFailed);
}

TEST(Interleave, InterruptedItKeepsItsWholeRounds) {
  FakeClock clock;
  int calls = 0;
  const Arm counting = arm("", [&] { return static_cast<double>(++calls); });
  InterleaveOptions options = rounds(10);
  options.interrupted = [&] { return calls >= 5; };
  InterleavedResult result = interleave(std::vector{counting, counting}, options, clock);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.rounds.size(), 3u);
  const Arm cancelled{"", [&]() -> Result<std::vector<Slice>> {
                        if (++calls > 9) return Error{Code::kCancelled, "interrupted"};
                        return at_rate(1);
                      }};
  result = interleave(std::vector{counting, cancelled}, rounds(10), clock);
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.failed_arm);
  EXPECT_EQ(result.rounds.size(), 1u);
}

TEST(Interleave, OfCoLocatedModelsEachHasItsRatios) {
  FakeClock clock;
  auto pair = [](double a, double b, double p50_ms) {
    return Arm{"", [=]() -> Result<std::vector<Slice>> { return std::vector{Slice{a, p50_ms, 0}, Slice{b, 0, 0}}; }};
  };
  const InterleavedResult result = interleave(std::vector{pair(1, 2, 6), pair(3, 1, 2)}, rounds(2), clock);
  EXPECT_EQ(log_ratios(result.rounds, 1, 0, 0), std::vector(2, std::log(3.0)));
  EXPECT_EQ(log_ratios(result.rounds, 1, 0, 1), std::vector(2, std::log(0.5)));
  EXPECT_EQ(log_ratios(result.rounds, 0, 1, 0, &Slice::p50_ms), std::vector(2, std::log(3.0)));
  EXPECT_TRUE(log_ratios(result.rounds, 1, 0, 1, &Slice::p50_ms).empty()) << "not measured";
}

}  // namespace
}  // namespace ridge::measure
