#include "serve/stop_texts.h"

#include <gtest/gtest.h>

#include <string>

namespace ridge::serve {
namespace {

TEST(StopTexts, HoldsBackWhatMayBecomeAStopAndReleasesItWhenItDoesNot) {
  StopTexts stops({"END"}, false);
  EXPECT_EQ(stops.add("aE"), "a");
  EXPECT_EQ(stops.add("N"), "");
  EXPECT_EQ(stops.add("xE"), "ENx");
  EXPECT_EQ(stops.end(), "E");
  EXPECT_FALSE(stops.found());
}

TEST(StopTexts, EndsAtTheEarliestStopAcrossPieces) {
  StopTexts stops({"later", "\n\n"}, false);
  EXPECT_EQ(stops.add("one\n"), "one");
  EXPECT_EQ(stops.add("\nlater"), "");
  EXPECT_EQ(stops.found(), "\n\n");
  EXPECT_EQ(stops.end(), "");
}

TEST(StopTexts, IncludesTheStopWhereItIsWanted) {
  StopTexts stops({"</a>"}, true);
  EXPECT_EQ(stops.add("x</"), "x");
  EXPECT_EQ(stops.add("a> y"), "</a>");
  EXPECT_EQ(stops.found(), "</a>");
}

// The suffix "aa" of "aaa" begins two stops of different length; the longer one is held.
TEST(StopTexts, HoldsTheLongestBeginning) {
  StopTexts stops({"ab", "aab"}, false);
  EXPECT_EQ(stops.add("aaa"), "a");
  EXPECT_EQ(stops.add("b"), "");
  EXPECT_EQ(stops.found(), "aab");
}

TEST(StopTexts, LooksOnlyWhereItIsTold) {
  StopTexts stops({"x"}, false);
  EXPECT_EQ(stops.add("ax", false), "ax");
  EXPECT_FALSE(stops.found());
  EXPECT_EQ(stops.add("bx"), "b");
  EXPECT_TRUE(stops.found());
}

TEST(StopTexts, CertainTextIsTheSameHoweverItIsCut) {
  const std::string whole = "ababcababab-abababc";
  for (size_t cut = 1; cut < 6; ++cut) {
    StopTexts stops({"ababc-", "abababc"}, false);
    std::string text;
    for (size_t i = 0; i < whole.size() && !stops.found(); i += cut) text += stops.add(whole.substr(i, cut));
    EXPECT_EQ(text, "ababcababab-") << cut;
    EXPECT_TRUE(stops.found());
  }
}

}  // namespace
}  // namespace ridge::serve
