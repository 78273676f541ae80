#include "cli/progress.h"

#include <gtest/gtest.h>

#include "cli/paragraph.h"

namespace ridge::cli {
namespace {

TimePoint after(double seconds) { return TimePoint() + from_seconds(seconds); }

TEST(Progress, SaysShareElapsedAndRemainingTime) {
  ProgressState state("tune", after(0));
  state.update("open", 0, after(1));
  state.update("int8, batch 8", 0.25, after(6));
  EXPECT_EQ(state.bar(after(6), 120), "tune  [#####...............]  25 %  6 s, about 15 s left  int8, batch 8");
}

TEST(Progress, TheRemainingTimePassesBetweenTwoReports) {
  ProgressState state("tune", after(0));
  state.update("a", 0, after(0));
  state.update("b", 0.5, after(100));
  EXPECT_NE(state.bar(after(100), 120).find("about 1 min 40 s left"), std::string::npos);
  EXPECT_NE(state.bar(after(150), 120).find("2 min 30 s, about 50 s left"), std::string::npos);
}

TEST(Progress, NothingIsKnownOfTheRemainingTimeAtFirstAndAfterTheEnd) {
  ProgressState state("bench", after(0));
  state.update("open", 0, after(0));
  EXPECT_EQ(state.bar(after(9), 60).find("left"), std::string::npos);
  state.update("measure", 0.01, after(10));
  EXPECT_EQ(state.bar(after(10), 60).find("left"), std::string::npos);
  state.update("confirming", 1, after(70));
  EXPECT_EQ(state.bar(after(75), 60), "bench  1 min 15 s  confirming");
}

TEST(Progress, AShareThatFallsBelongsToAPart) {
  ProgressState state("tune", after(0));
  state.update("calibration", 0, after(0));
  state.update("calibration", 0.9, after(10));
  state.update("search", 0.0, after(11));
  EXPECT_EQ(state.bar(after(11), 80).find("left"), std::string::npos);
  state.update("search", 0.5, after(15));
  EXPECT_NE(state.bar(after(15), 120).find("about 4 s left of this part"), std::string::npos);
}

TEST(Progress, TheBarIsCutToTheTerminal) {
  ProgressState state("tune", after(0));
  state.update("openvino, int8, 1 instance × 2 threads, batch 32; best 1.00×", 0.5, after(10));
  for (const size_t columns : {20, 60, 80, 200}) EXPECT_LE(columns_of(state.bar(after(10), columns)), columns);
}

TEST(Progress, WithoutATerminalThereIsALineForANewStepNowAndThen) {
  ProgressState state("tune", after(0));
  state.update("a", 0.1, after(1));
  EXPECT_EQ(state.due_line(after(1)), std::nullopt);
  EXPECT_EQ(state.due_line(after(2)), "tune: 10 %, 2 s: a");
  EXPECT_EQ(state.due_line(after(20)), std::nullopt);
  state.update("b", 0.2, after(21));
  EXPECT_EQ(state.due_line(after(21)), "tune: 20 %, 21 s, about 2 min 40 s left: b");
  state.update("c", 0.3, after(25));
  EXPECT_EQ(state.due_line(after(25)), std::nullopt);
  EXPECT_NE(state.due_line(after(26)), std::nullopt);
}

}  // namespace
}  // namespace ridge::cli
