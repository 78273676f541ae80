#include "cli/own_colours.h"

#include <gtest/gtest.h>

#include "cli/paragraph.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

TEST(OwnColours, ReachTheTerminalAndTakeNoColumns) {
  const std::string text = "a " + coloured("1;31", "fails");
  EXPECT_EQ(columns_of(text), 7u);
  EXPECT_EQ(for_terminal(without_controls(text, LineEnds::kKept)), "a \x1b[1;31mfails\x1b[0m");
}

TEST(OwnColours, ANameCannotColourTheTerminal) {
  EXPECT_EQ(for_terminal(without_controls("lay\x1b[31mer\x1b[0m\x07", LineEnds::kKept)), "lay\\x1b[31mer\\x1b[0m\\x07");
}

TEST(OwnColours, ACellOfATableIsOneLineWhateverTheNameHolds) {
  const std::string text = table({"layer", "verdict"}, {{"lay\x1b[31mer\nX", coloured("32", "ok")}}, "ll");
  EXPECT_EQ(for_terminal(text), "layer             verdict\nlay\\x1b[31mer\\nX  \x1b[32mok\x1b[0m\n");
}

}  // namespace
}  // namespace ridge::cli
