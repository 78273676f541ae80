#include "lab/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/fake_clock.h"

namespace ridge::lab {
namespace {

constexpr Nanoseconds kRun = std::chrono::milliseconds(10);

// Every run takes as long, and computes what is expected.
class ScriptedCase : public PreparedCase {
 public:
  ScriptedCase(const Case& work, FakeClock& clock) : buffers_(work.buffers), expected_(work.expected), clock_(clock) {}
  Result<double> seconds(const Variant& variant, int repeats) override {
    ran_ = variant.expected;
    clock_.advance(kRun * repeats);
    return to_seconds(kRun * repeats);
  }
  Status put(size_t, std::span<const float>) override { return {}; }
  Status get(size_t, std::span<float> content) override {
    for (size_t i = 0; i < content.size(); ++i) {
      const double right = expected_.at(ran_)(buffers_, i);
      content[i] = std::isnan(right) ? 0 : static_cast<float>(right);
    }
    return {};
  }

 private:
  Buffers buffers_;
  std::vector<Reference> expected_;
  FakeClock& clock_;
  size_t ran_ = 0;
};

class LedgerTest : public testing::Test {
 protected:
  LedgerTest() {
    device_.kind = "cpu";
    device_.conditions = [] { return Json::object(); };
    device_.target.family = Family::kNative;
    device_.target.small = true;
    device_.prepare = [this](const Case& work) {
      clock_.advance(preparing_);
      return Result<std::unique_ptr<PreparedCase>>(std::make_unique<ScriptedCase>(work, clock_));
    };
  }

  Ledger within(double seconds, const Selection& selection = {}) {
    LedgerOptions how;
    how.time = from_seconds(seconds);
    Result<Ledger> ledger = build_ledger(device_, selection, *claims_, how, clock_);
    EXPECT_TRUE(ledger);
    return std::move(*ledger);
  }

  static std::set<std::string> with(const Ledger& ledger, bool measured) {
    std::set<std::string> ids;
    for (const LedgerRow& row : ledger.rows)
      if (measured ? !row.experiment.empty() : row.verdict == measure::Judgement::kNotMeasured)
        ids.insert(row.claim.id);
    return ids;
  }

  FakeClock clock_;
  Nanoseconds preparing_{0};  // of each case
  Device device_;
  Result<std::vector<measure::Claim>> claims_ = measure::claims();
};

TEST_F(LedgerTest, MeasuresAllWhereThereIsTimeAndTakesNoMore) {
  const TimePoint begin = clock_.now();
  const Ledger ledger = within(600);
  EXPECT_TRUE(with(ledger, false).empty());
  EXPECT_GE(with(ledger, true).size(), 5u);
  EXPECT_LT(to_seconds(clock_.now() - begin), 600);
}

// On Hopper neither the vendor's products nor those by warp groups have a comparison (experiments/matmul_tensor.cc).
TEST_F(LedgerTest, EveryVariantHasItsTimeAlsoIfNoComparisonHasIt) {
  device_.kind = "cuda";
  device_.target.family = Family::kKernels;
  device_.target.architecture = 90;
  device_.target.unified_memory = device_.target.warp_groups = device_.target.library = true;
  const Ledger ledger = within(3600);
  for (const Experiment& experiment : all_experiments())
    for (const Case& work : experiment.cases(device_.target)) {
      const auto measured = std::ranges::find_if(ledger.cases, [&](const MeasuredCase& one) {
        return one.experiment == experiment.name && one.title == work.title;
      });
      ASSERT_NE(measured, ledger.cases.end()) << work.title;
      for (const Variant& variant : work.variants) {
        if (variant.limit) continue;
        const auto way = std::ranges::find(measured->ways, variant.name, &MeasuredCase::Way::name);
        ASSERT_NE(way, measured->ways.end()) << work.title << ", " << variant.name;
        EXPECT_DOUBLE_EQ(way->speed.seconds, to_seconds(kRun)) << variant.name;
      }
    }
}

TEST_F(LedgerTest, LittleTimeIsDividedAmongAllExperiments) {
  const std::set<std::string> all = with(within(600), true);
  const TimePoint begin = clock_.now();
  EXPECT_EQ(with(within(30), true), all) << "each in less time";
  EXPECT_LE(to_seconds(clock_.now() - begin), 30);
}

// References and compilers may take longer than the measurements.
TEST_F(LedgerTest, WhatPreparingTakesDoesNotCount) {
  const std::set<std::string> all = with(within(30), true);
  preparing_ = std::chrono::seconds(100);
  EXPECT_EQ(with(within(30), true), all);
}

// No more than what checking a case, warming up and the fewest rounds of one comparison take beyond it.
TEST_F(LedgerTest, WhatTheTimeDidNotReachIsListedAsNotMeasured) {
  const std::set<std::string> all = with(within(600), true);
  const TimePoint begin = clock_.now();
  const Ledger ledger = within(1);
  EXPECT_LT(to_seconds(clock_.now() - begin), 1.5);
  std::set<std::string> both = with(ledger, true);
  EXPECT_FALSE(both.empty());
  EXPECT_LT(both.size(), all.size());
  both.merge(with(ledger, false));
  EXPECT_EQ(both, all);
  const Json json = json_of(ledger);
  EXPECT_GT(json["verdicts"]["not measured"], 0);
}

TEST_F(LedgerTest, WithoutAnyTimeNothingIsMeasuredAndOtherDevicesClaimsKeepTheirReason) {
  const Ledger ledger = within(0);
  EXPECT_TRUE(with(ledger, true).empty());
  EXPECT_FALSE(with(ledger, false).empty());
  const auto unified = std::ranges::find(ledger.rows, "L01", [](const LedgerRow& row) { return row.claim.id; });
  ASSERT_NE(unified, ledger.rows.end());
  EXPECT_EQ(unified->verdict, measure::Judgement::kNotTestable);
}

}  // namespace
}  // namespace ridge::lab
