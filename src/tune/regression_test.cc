#include "tune/regression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

namespace ridge::tune {
namespace {

// Sixteen rounds with the same ratios, one above and one below in turn.
Tuning recorded(double gain = 2, double untuned_rows_per_s = 100, double p99_ms = 50, double noise = 0.02) {
  Tuning r;
  r.machine.id = "m1";
  r.gain = {gain, gain * (1 - noise), gain * (1 + noise)};
  r.best.throughput_per_s = gain * untuned_rows_per_s;
  r.baseline.throughput_per_s = untuned_rows_per_s;
  r.best.latency_ms.p99 = p99_ms;
  r.best.rss_delta_bytes = 400 << 20;
  r.deviation.relative_l2 = 1e-6;
  for (int round = 0; round < 16; ++round) {
    const double factor = round % 2 == 0 ? 1 + noise : 1 / (1 + noise);
    r.gains.push_back(std::log(gain * factor));
    r.rounds.add({r.best.throughput_per_s * factor, 0, 0, p99_ms * factor},
                 {untuned_rows_per_s, 0, 0, 100 * 100 / untuned_rows_per_s});
  }
  return r;
}

Change verdict(const std::vector<FigureChange>& all, const std::string& id) {
  for (const FigureChange& row : all)
    if (row.id == id) return row.verdict;
  ADD_FAILURE() << id;
  return Change::kNotComparable;
}

TEST(Compare, TheSameAgainIsNoRegression) {
  const std::vector<FigureChange> all = compare(recorded(), recorded(), {5});
  EXPECT_FALSE(regressed(all));
  for (const char* id : {"gain", "throughput", "p99", "memory", "relative-l2"})
    EXPECT_EQ(verdict(all, id), Change::kAsBefore) << id;
}

TEST(Compare, ALossBeyondToleranceAndSpreadIsOne) {
  const Tuning now = recorded(1.8);
  const std::vector<FigureChange> all = compare(recorded(), now, {5});
  EXPECT_EQ(verdict(all, "gain"), Change::kRegressed);
  EXPECT_NE(conclusion(all, {5}).find("Regressed: gain"), std::string::npos);
  EXPECT_FALSE(regressed(compare(recorded(), now, {12})));
}

TEST(Compare, ALossThatTheSpreadExplainsIsNone) {
  EXPECT_FALSE(regressed(compare(recorded(), recorded(1.8, 100, 50, 0.2), {5})));
}

TEST(Compare, AWideIntervalEndsAboveMinusAHundredPercentAndSaysWhatItCannotSee) {
  FigureChange row = figure_of("p99", "p99 of one run", "ms", 100, 90);
  row.spread_percent = 250;
  const auto ends = change_ends(row);
  ASSERT_TRUE(ends);
  EXPECT_NEAR(ends->first, 100 * (0.9 * std::exp(-2.5) - 1), 1e-9);
  EXPECT_EQ(spread_text(row), "-92.6 % to +996.4 %");
  EXPECT_NEAR(least_visible_percent({row}, {5}).value_or(0), 100 * (1.05 * std::exp(2.5) - 1), 1e-9);
  row.unit = "rows/s";
  const double loss = least_visible_percent({row}, {5}).value_or(0);
  EXPECT_NEAR(loss, 100 * (1 - std::exp(-2.5) / 1.05), 1e-9);
  EXPECT_NE(unjudged_reason({row}), "") << "a loss of half would not show";
  row.spread_percent = 50;
  EXPECT_NE(conclusion({row}, {5}).find("cannot see a loss of less than 42.2 %"), std::string::npos);
  row.spread_percent = 2;
  row.change_percent = -1;
  EXPECT_EQ(spread_text(row), "± 2.0 %");
  row.spread_percent = 0;
  EXPECT_EQ(spread_text(row), "");
  EXPECT_FALSE(least_visible_percent({row}, {5}));
}

TEST(Compare, WhatTheUntunedModelShowsTooIsNotTheTuningsFault) {
  const Tuning now = recorded(2, 75, 67);
  const std::vector<FigureChange> all = compare(recorded(), now, {5});
  EXPECT_FALSE(regressed(all));
  for (const char* id : {"gain", "throughput", "p99"}) EXPECT_EQ(verdict(all, id), Change::kAsBefore) << id;
  EXPECT_EQ(verdict(all, "untuned-throughput"), Change::kNotComparable);
  const std::vector<FigureChange> strict = compare(recorded(), now, {5, true});
  for (const char* id : {"throughput", "untuned-throughput", "p99"})
    EXPECT_EQ(verdict(strict, id), Change::kRegressed) << id;
}

TEST(Compare, ALongerTailOfTheCandidateAloneIsARegression) {
  const std::vector<FigureChange> all = compare(recorded(), recorded(2, 100, 75), {5});
  EXPECT_EQ(verdict(all, "p99"), Change::kRegressed);
  EXPECT_EQ(verdict(all, "gain"), Change::kAsBefore);
  EXPECT_NEAR(all[3].beside_untuned_percent.value_or(0), 50, 1e-9);
}

// One tuning in simulation. In every round the machine is as fast as it is just then; candidate and untuned model
// differ by noise of their own and by bursts of other work that hit one of them; how a session came to lie in memory
// holds for the run.
struct Noise {
  double rate = 0.03, tail = 0.1;  // standard deviation of ln, per round and side
  double session = 0.01;           // of ln, per run
  double burst_share = 0.05;       // of the rounds, each side; halves the rate and doubles the tail
};
Tuning simulated(std::mt19937_64& random, const Noise& noise, double speed, double slower = 1, double longer_tail = 1) {
  std::normal_distribution<double> normal;
  Tuning r = recorded();
  r.gains.clear();
  r.rounds = {};
  const double session = noise.session * normal(random);
  for (int round = 0; round < 16; ++round) {
    const double machine = speed * std::exp(0.2 * normal(random));
    const auto slice = [&](double rate, double tail_ms) {
      const bool burst = std::uniform_real_distribution<double>()(random) < noise.burst_share;
      return measure::Slice{machine * rate * std::exp(noise.rate * normal(random)) / (burst ? 2 : 1), 0, 0,
                            tail_ms / machine * std::exp(noise.tail * normal(random)) * (burst ? 2 : 1)};
    };
    r.rounds.add(slice(200 / slower * std::exp(session), 50 * slower * longer_tail), slice(100, 100));
    r.gains.push_back(std::log(r.rounds.rows_per_s.back() / r.rounds.untuned_rows_per_s.back()));
  }
  return r;
}

// The share of simulated comparisons with a regression, of all figures or of one.
double alarms(const Noise& noise, double slower, double longer_tail, const char* figure = nullptr) {
  constexpr int kComparisons = 1000;
  std::mt19937_64 random(7);
  int found = 0;
  for (int i = 0; i < kComparisons; ++i) {
    const Tuning before = simulated(random, noise, 1);
    const Tuning now = simulated(random, noise, 0.4, slower, longer_tail);  // a busy machine
    const std::vector<FigureChange> all = compare(before, now, {5});
    found += figure == nullptr ? regressed(all) : verdict(all, figure) == Change::kRegressed;
  }
  return static_cast<double>(found) / kComparisons;
}

TEST(CompareInSimulation, RaisesLessThanOneFalseAlarmInAHundred) {
  for (const double rate : {0.01, 0.1})
    for (const double burst_share : {0.0, 0.05, 0.2})
      EXPECT_LT(alarms({rate, 3 * rate, 0.01, burst_share}, 1, 1), 0.01) << rate << " " << burst_share;
}

TEST(Compare, ASpeedThatIsWorseOnABusyMachineIsNotJudged) {
  std::mt19937_64 random(7);
  const Noise quiet{0.01, 0.03, 0.005, 0};
  Tuning before = simulated(random, quiet, 1), now = simulated(random, quiet, 1, 1.5);
  EXPECT_TRUE(regressed(compare(before, now, {5})));
  machine::Disturbance busy;
  busy.seconds = 10;
  busy.cpus = 2;
  busy.other_cpus = 1.9;
  for (Tuning* one : {&before, &now}) {
    one->disturbance = busy;
    std::vector<FigureChange> all = compare(before, now, {5});
    EXPECT_FALSE(regressed(all));
    EXPECT_NE(unjudged_reason(all), "");
    EXPECT_THAT(conclusion(all, {5}), testing::StartsWith("Not judged"));
    // Memory does not depend on the load, and is judged.
    now.best.rss_delta_bytes = 10 * before.best.rss_delta_bytes;
    EXPECT_TRUE(regressed(compare(before, now, {5})));
    now.best.rss_delta_bytes = before.best.rss_delta_bytes;
    one->disturbance.reset();
  }
  now = simulated(random, quiet, 1);
  now.disturbance = busy;
  EXPECT_EQ(unjudged_reason(compare(before, now, {5})), "") << "as before is an answer";
}

TEST(Compare, AnIntervalThatHidesALossOfHalfIsNoAnswer) {
  std::mt19937_64 random(7);
  const Tuning wide = simulated(random, {1.5, 1.5, 1, 0}, 0.05);
  const std::vector<FigureChange> all = compare(wide, wide, {5});
  EXPECT_FALSE(regressed(all));
  EXPECT_NE(unjudged_reason(all), "");
  EXPECT_THAT(conclusion(all, {5}), testing::StartsWith("Not judged"));
}

TEST(CompareInSimulation, FindsWhatIsSlower) {
  const Noise quiet{0.02, 0.06, 0.005, 0};
  EXPECT_GT(alarms(quiet, 1.1, 1, "gain"), 0.85);
  EXPECT_GT(alarms(quiet, 1.2, 1, "gain"), 0.999);
  EXPECT_GT(alarms(quiet, 1, 1.2, "p99"), 0.9);
  EXPECT_GT(alarms({0.06, 0.2, 0.01, 0}, 1.2, 1, "gain"), 0.85);  // a busy machine
}

TEST(Compare, AnotherMachineSaysNothingAboutAbsoluteFigures) {
  Tuning now = recorded();
  now.machine.id = "m2";
  now.best.throughput_per_s = 20;
  const std::vector<FigureChange> all = compare(recorded(), now, {5});
  EXPECT_EQ(verdict(all, "throughput"), Change::kNotComparable);
  EXPECT_FALSE(regressed(all));
}

TEST(Compare, WorseOutputsAreARegressionWhereverTheyWereComputed) {
  Tuning now = recorded();
  now.machine.id = "m2";
  now.deviation.relative_l2 = 1e-2;
  EXPECT_EQ(verdict(compare(recorded(), now, {5}), "relative-l2"), Change::kRegressed);
}

TEST(Compare, AFewMebibytesMoreAreNone) {
  Tuning now = recorded(), small = recorded();
  small.best.rss_delta_bytes = 4 << 20;
  now.best.rss_delta_bytes = 8 << 20;
  EXPECT_EQ(verdict(compare(small, now, {5}), "memory"), Change::kAsBefore);
  now.best.rss_delta_bytes = 500 << 20;
  EXPECT_EQ(verdict(compare(recorded(), now, {5}), "memory"), Change::kRegressed);
}

}  // namespace
}  // namespace ridge::tune
