#include "measure/trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge::measure {
namespace {

using std::chrono::microseconds;

const TimePoint kBegin{std::chrono::hours(1)};

TimedRun run_of(int caller, int due_us, int begin_us, int end_us, int64_t runs = 1) {
  return {caller, kBegin + microseconds(due_us), kBegin + microseconds(begin_us), kBegin + microseconds(end_us), runs};
}

std::vector<Json> spans_of(const Json& trace) {
  std::vector<Json> spans;
  for (const Json& event : trace)
    if (event.at("ph") == "X") spans.push_back(event);
  return spans;
}

TEST(Trace, HasASpanForEveryRunOnTheRowOfItsCaller) {
  Measurement measured;
  measured.concurrency = 2;
  const Json trace = chrome_trace({run_of(0, 100, 100, 350), run_of(1, 200, 200, 300, 32)}, measured);
  const std::vector<Json> spans = spans_of(trace);
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
  const std::vector<Json> spans = spans_of(chrome_trace({run_of(0, 0, 40, 60)}, {}));
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].at("name"), "queued");
  EXPECT_EQ(spans[0].at("dur"), 40);
  EXPECT_EQ(spans[1].at("name"), "run");
  EXPECT_EQ(spans[1].at("ts"), 40);
}

TEST(Trace, LayersFollowEachOtherWithinOneRunInTheOrderInWhichTheyRan) {
  Measurement measured;
  measured.layers.resize(2);  // slowest first
  measured.layers[0].name = "second";
  measured.layers[0].ms = 2;
  measured.layers[0].position = 1;
  measured.layers[1].name = "first";
  measured.layers[1].ms = 0.5;
  const std::vector<Json> spans = spans_of(chrome_trace({}, measured));
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].at("dur"), 2500);
  EXPECT_EQ(spans[1].at("name"), "first");
  EXPECT_EQ(spans[1].at("ts"), 0);
  EXPECT_EQ(spans[2].at("name"), "second");
  EXPECT_EQ(spans[2].at("ts"), 500);
  EXPECT_EQ(spans[2].at("tid"), measured.concurrency) << "a row of its own";
}

}  // namespace
}  // namespace ridge::measure
