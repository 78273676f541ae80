#include "limits/metric.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "limits/rates.h"

namespace ridge::limits {
namespace {

constexpr double kBurst = 5e-3;

// On a clock that moves only while a kernel runs: results are exact.
class MetricTest : public testing::Test {
 protected:
  // Does `rate` units per second, a thousand per repeat.
  KernelVariant variant_of(double rate, const std::string& name = "") {
    KernelVariant variant;
    variant.conditions = name;
    variant.run = one_by_one([this, rate](int64_t repeats) -> Result<Burst> {
      const double units = 1000 * static_cast<double>(repeats);
      clock_.advance(from_seconds(units / rate));
      return Burst{units, units / rate, 1e9};
    });
    return variant;
  }
  Metric metric_of(std::vector<KernelVariant> variants, const std::string& name = "") {
    Metric metric;
    metric.name = name;
    metric.variants = std::move(variants);
    return metric;
  }
  void measure(std::initializer_list<Metric*> metrics) { measure_in_rounds(metrics, options_, clock_); }
  double elapsed() const { return to_seconds(clock_.now() - begin_); }

  FakeClock clock_;
  TimePoint begin_ = clock_.now();
  RoundOptions options_{
      .most_seconds = 1000, .least_rounds = 1, .burst_seconds = kBurst, .interrupted = {}, .progress = {}};
};

TEST_F(MetricTest, AVariantIsGivenAsMuchAsABurstTakes) {
  KernelVariant variant = variant_of(1e12);  // 1 ns per repeat
  ASSERT_TRUE(calibrate(variant, kBurst));
  EXPECT_NEAR(static_cast<double>(variant.repeats), kBurst / 1e-9, 2);
  KernelVariant limited = variant_of(1e12);
  limited.most_repeats = 1000;
  ASSERT_TRUE(calibrate(limited, kBurst));
  EXPECT_EQ(limited.repeats, 1000);
  KernelVariant slow = variant_of(1000);  // 1 s per repeat
  const TimePoint before = clock_.now();
  ASSERT_TRUE(calibrate(slow, kBurst));
  EXPECT_EQ(slow.repeats, 1);
  EXPECT_EQ(clock_.now() - before, std::chrono::seconds(2)) << "once to make it ready, once to see how long it takes";
}

TEST_F(MetricTest, AStallWhileCalibratingDoesNotShortenTheBursts) {
  KernelVariant variant = variant_of(1e9);  // 1 µs per repeat
  int calls = 0;
  variant.run = one_by_one([run = variant.run, &calls](int64_t repeats) -> Result<Burst> {
    RIDGE_ASSIGN(std::vector<Burst> bursts, run(repeats, 1));
    if (calls++ % 3 == 0) bursts.front().seconds += 0.1;
    return bursts.front();
  });
  ASSERT_TRUE(calibrate(variant, kBurst));
  EXPECT_EQ(variant.repeats, 5000);
}

TEST_F(MetricTest, BestVariantIsTheResult) {
  Metric metric = metric_of({variant_of(2e6, "slow"), variant_of(3e6, "fast")});
  metric.variants[1].how = [] { return std::string("by tiles"); };
  options_.least_rounds = 3;
  measure({&metric});
  const MetricResult result = result_of(metric);
  ASSERT_TRUE(result.best);
  EXPECT_NEAR(*result.best, 3e6, 1);
  EXPECT_NEAR(*result.typical, 3e6, 1);
  EXPECT_EQ(result.conditions, "fast, by tiles");
  EXPECT_EQ(result.clock_hz, 1e9);
  EXPECT_NEAR(result.burst_seconds, kBurst, 1e-4);
  // The first round grows from nothing; three more must be quiet.
  EXPECT_EQ(result.bursts, 4 * kBurstsPerVisit);
  EXPECT_TRUE(metric.variants[0].dropped) << "after the second round: it does 67 % of the best";
  EXPECT_EQ(metric.variants[0].rates.size(), 2u * kBurstsPerVisit);
}

TEST_F(MetricTest, RoundsEndWhenTheTimeIsUp) {
  Metric metric = metric_of({variant_of(1e6)});
  options_.least_rounds = 1000;
  options_.most_seconds = 10 * kBurstsPerVisit * kBurst;
  measure({&metric});
  // Calibrating takes part of the first visit's time, so a tenth would end too late.
  EXPECT_EQ(result_of(metric).bursts, 9 * kBurstsPerVisit);
  EXPECT_LT(elapsed(), options_.most_seconds);
}

// On a busy machine the first round may take longer than all of the time.
TEST_F(MetricTest, WhenTheTimeIsUpEachMetricGetsOneVisitAtMost) {
  std::vector<Metric> metrics(10);
  std::vector<Metric*> all;
  for (Metric& metric : metrics) {
    metric = metric_of({variant_of(1000), variant_of(1000), variant_of(1000)});  // 1 s per repeat
    all.push_back(&metric);
  }
  options_.most_seconds = 15;
  measure_in_rounds(all, options_, clock_);
  const double visit = 2 + kBurstsPerVisit;  // calibrating, then the bursts
  EXPECT_LE(elapsed(), options_.most_seconds + 3 * visit + 9 * visit);
  for (const Metric& metric : metrics) EXPECT_TRUE(metric.winner());
}

TEST_F(MetricTest, AllMetricsTakeTurnsAndProgressNamesThem) {
  Metric one = metric_of({variant_of(1e6)}, "one"), other = metric_of({variant_of(1e6)}, "other");
  std::vector<std::string> steps;
  double last = 0;
  options_.progress = [&](const std::string& step, double share) {
    steps.push_back(step);
    EXPECT_GE(share, last);
    EXPECT_LT(share, 1);
    last = share;
  };
  measure({&one, &other});
  EXPECT_EQ(steps, (std::vector<std::string>{"one", "other", "one", "other", "one", "other", "one", "other"}));
}

TEST_F(MetricTest, VisitsAreTheTimesOfTheBurstsAlone) {
  Metric metric = metric_of({variant_of(1e6)});
  metric.variants[0].repeats = 5;  // 5 ms
  metric.variants[0].check = [this] {
    clock_.advance(std::chrono::seconds(1));
    return Status{};
  };
  measure({&metric});
  const std::vector<TimeSpan>& visits = metric.variants[0].visits;
  ASSERT_EQ(visits.size(), 4u);
  for (size_t i = 0; i < visits.size(); ++i) {
    EXPECT_EQ(visits[i].begin, begin_ + i * std::chrono::milliseconds(1000 + 8 * 5));
    EXPECT_EQ(visits[i].end, visits[i].begin + std::chrono::milliseconds(8 * 5));
  }
}

TEST_F(MetricTest, InterruptedKeepsWhatItHas) {
  Metric one = metric_of({variant_of(1e6)}), other = metric_of({variant_of(1e6)});
  options_.interrupted = [&] { return !one.variants[0].rates.empty(); };
  measure({&one, &other});
  EXPECT_EQ(result_of(one).bursts, kBurstsPerVisit);
  EXPECT_FALSE(result_of(other).best);
  EXPECT_FALSE(result_of(other).reason.empty());
}

TEST_F(MetricTest, AVariantThatComputesWronglyDoesNotCount) {
  Metric metric = metric_of({variant_of(2e6, "right"), variant_of(9e6, "wrong")});
  metric.variants[1].check = [] { return Status(Error{Code::kFailed, "counted to 3"}); };
  measure({&metric});
  EXPECT_EQ(result_of(metric).conditions, "right");
  Metric wrong = metric_of({variant_of(1e6)});
  wrong.variants[0].run = one_by_one([](int64_t) -> Result<Burst> { return Error{Code::kFailed, "no memory"}; });
  measure({&wrong});
  EXPECT_FALSE(result_of(wrong).best);
  EXPECT_EQ(result_of(wrong).reason, "no memory");
}

}  // namespace
}  // namespace ridge::limits
