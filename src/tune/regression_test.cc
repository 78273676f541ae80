#include "tune/regression.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge::tune {
namespace {

TuningRecord recorded() {
  TuningRecord r;
  r.machine = "m1";
  r.gain = {2.0, 1.96, 2.04};
  r.rows_per_s = 200;
  r.untuned_rows_per_s = 100;
  r.p99_ms = 50;
  r.ci95_percent = 2;
  r.rss_delta_bytes = 400 << 20;
  r.relative_l2 = 1e-6;
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
  for (const FigureChange& row : all) EXPECT_EQ(row.verdict, Change::kAsBefore) << row.id;
}

TEST(Compare, ALossBeyondToleranceAndSpreadIsOne) {
  TuningRecord now = recorded();
  now.gain = {1.8, 1.77, 1.83};  // −10 %, spread 2.6 %
  const std::vector<FigureChange> all = compare(recorded(), now, {5});
  EXPECT_EQ(verdict(all, "gain"), Change::kRegressed);
  EXPECT_NE(conclusion(all, {5}).find("Regressed: gain"), std::string::npos);
  EXPECT_FALSE(regressed(compare(recorded(), now, {12})));
}

TEST(Compare, ALossThatTheSpreadExplainsIsNone) {
  TuningRecord now = recorded();
  now.gain = {1.8, 1.5, 2.16};
  EXPECT_FALSE(regressed(compare(recorded(), now, {5})));
}

TEST(Compare, WhereTheUntunedModelIsSlowerTooTheTuningIsNotToBlame) {
  TuningRecord now = recorded();
  now.rows_per_s = 150;
  now.untuned_rows_per_s = 75;
  now.p99_ms = 67;
  const std::vector<FigureChange> all = compare(recorded(), now, {5});
  EXPECT_FALSE(regressed(all));
  EXPECT_EQ(verdict(all, "gain"), Change::kAsBefore);
  EXPECT_EQ(verdict(all, "throughput"), Change::kNotComparable);
  const std::vector<FigureChange> strict = compare(recorded(), now, {5, true});
  EXPECT_EQ(verdict(strict, "throughput"), Change::kRegressed);
  EXPECT_EQ(verdict(strict, "untuned-throughput"), Change::kRegressed);
  EXPECT_EQ(verdict(strict, "p99"), Change::kRegressed);
}

TEST(Compare, AnotherMachineSaysNothingAboutAbsoluteFigures) {
  TuningRecord now = recorded();
  now.machine = "m2";
  now.rows_per_s = 20;
  const std::vector<FigureChange> all = compare(recorded(), now, {5});
  EXPECT_EQ(verdict(all, "throughput"), Change::kNotComparable);
  EXPECT_FALSE(regressed(all));
}

TEST(Compare, WorseOutputsAreARegressionWhereverTheyWereComputed) {
  TuningRecord now = recorded();
  now.machine = "m2";
  now.relative_l2 = 1e-2;
  EXPECT_EQ(verdict(compare(recorded(), now, {5}), "relative-l2"), Change::kRegressed);
}

TEST(Compare, AFewMebibytesMoreAreNone) {
  TuningRecord now = recorded(), small = recorded();
  small.rss_delta_bytes = 4 << 20;
  now.rss_delta_bytes = 8 << 20;
  EXPECT_EQ(verdict(compare(small, now, {5}), "memory"), Change::kAsBefore);
  now.rss_delta_bytes = 500 << 20;
  EXPECT_EQ(verdict(compare(recorded(), now, {5}), "memory"), Change::kRegressed);
}

TEST(RecordedFromJson, NamesWhatIsMissing) {
  Result<TuningRecord> wrong = recorded_from_json(Json{{"machine", Json::object()}});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("'machine.id'"), std::string::npos);
}

}  // namespace
}  // namespace ridge::tune
