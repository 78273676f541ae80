#include "measure/trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge::measure {
namespace {

using std::chrono::microseconds;

const TimePoint kBegin{std::chrono::hours(1)};

TimedRun run_of(int caller, int due_us, int begin_us, int end_us, int64_t runs = 1, int failure = 0) {
  return {caller, kBegin + microseconds(due_us), kBegin + microseconds(begin_us), kBegin + microseconds(end_us), runs,
          failure};
}

std::vector<Json> spans_of(std::span<const TracedLoad> loads) {
  std::vector<Json> spans;
  for (const Json& event : chrome_trace(loads))
    if (event.at("ph") == "X") spans.push_back(event);
  return spans;
}
std::vector<Json> spans_of(const TracedLoad& load) { return spans_of(std::span(&load, 1)); }

TEST(Trace, HasASpanForEveryRunOnTheRowOfItsCaller) {
  const std::vector<Json> spans =
      spans_of({.name = "m", .callers = 2, .runs = {run_of(0, 100, 100, 350), run_of(1, 200, 200, 300, 32)}});
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].at("ts"), 0);
  EXPECT_EQ(spans[0].at("dur"), 250);
  EXPECT_EQ(spans[0].at("tid"), 0);
  EXPECT_EQ(spans[1].at("ts"), 100);
  EXPECT_EQ(spans[1].at("tid"), 1);
  EXPECT_EQ(spans[1].at("name"), "runs");
  EXPECT_EQ(spans[1].at("args").at("runs"), 32);
}

TEST(Trace, ShowsTheTimeInWhichARequestWaitedForItsRun) {
  const std::vector<Json> spans = spans_of({.name = "m", .callers = 1, .runs = {run_of(0, 0, 40, 60)}});
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].at("name"), "queued");
  EXPECT_EQ(spans[0].at("dur"), 40);
  EXPECT_EQ(spans[1].at("name"), "run");
  EXPECT_EQ(spans[1].at("ts"), 40);
}

TEST(Trace, LoadsAreProcessesAndFailuresHaveTheirNames) {
  const auto name = [](int failure) { return "failure " + std::to_string(failure); };
  const std::vector<TracedLoad> loads = {
      {.name = "one", .callers = 1, .runs = {run_of(0, 0, 0, 10)}, .layers = {}, .failure_name = name},
      {.name = "two", .callers = 1, .runs = {run_of(0, 500, 500, 510, 1, 503)}, .layers = {}, .failure_name = name}};
  const std::vector<Json> spans = spans_of(loads);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_NE(spans[0].at("pid"), spans[1].at("pid"));
  EXPECT_EQ(spans[1].at("ts"), 500) << "all have one beginning";
  EXPECT_EQ(spans[1].at("name"), "failure 503");
}

TEST(Trace, LayersFollowEachOtherWithinOneRunInTheOrderInWhichTheyRan) {
  TracedLoad measured;
  measured.layers.resize(2);  // slowest first
  measured.layers[0].name = "second";
  measured.layers[0].ms = 2;
  measured.layers[0].position = 1;
  measured.layers[1].name = "first";
  measured.layers[1].ms = 0.5;
  const std::vector<Json> spans = spans_of(measured);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].at("dur"), 2500);
  EXPECT_EQ(spans[1].at("name"), "first");
  EXPECT_EQ(spans[1].at("ts"), 0);
  EXPECT_EQ(spans[2].at("name"), "second");
  EXPECT_EQ(spans[2].at("ts"), 500);
  EXPECT_EQ(spans[2].at("tid"), measured.callers) << "a row of its own";
}

}  // namespace
}  // namespace ridge::measure
