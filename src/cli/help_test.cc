#include "cli/help.h"

#include <gtest/gtest.h>

namespace ridge::cli {
namespace {

TEST(Help, ATextOfEveryKindOfBlock) {
  EXPECT_EQ(help_for_terminal("# ridge x\n"
                              "\n"
                              "`ridge x` measures\n"
                              "a model.\n"
                              "\n"
                              "## Usage\n"
                              "\n"
                              "```\n"
                              "ridge x MODEL   # no break here, however wide\n"
                              "\n"
                              "  indented\n"
                              "```\n"
                              "\n"
                              "Read on:\n"
                              "\n"
                              "- one\n"
                              "- two\n",
                              40),
            "ridge x measures a model.\n"
            "\n"
            "USAGE\n"
            "  ridge x MODEL   # no break here, however wide\n"
            "\n"
            "    indented\n"
            "\n"
            "Read on:\n"
            "\n"
            "  - one\n"
            "  - two\n");
}

TEST(Help, OptionsStandInTwoColumnsThatFitTheWidth) {
  EXPECT_EQ(help_for_terminal("- `--batch, -b N`: rows of one run; see\n"
                              "  `--shape` (default 1)\n"
                              "- `--json`: one document\n"
                              "- `--with-a-name-too-long-for-the-column`: on its own line\n",
                              40),
            "  --batch, -b N  rows of one run; see\n"
            "                 --shape (default 1)\n"
            "  --json         one document\n"
            "  --with-a-name-too-long-for-the-column\n"
            "                 on its own line\n");
}

TEST(Help, ALinkIsItsTextAndAnIndexStays) {
  EXPECT_EQ(help_for_terminal("See [docs/methods.md](../methods.md), `peaks[precision]` and [OPTION...].\n", 80),
            "See docs/methods.md, peaks[precision] and [OPTION...].\n");
}

TEST(Help, LinesBreakAtTheWidth) {
  EXPECT_EQ(help_for_terminal("one two three\nfour five\n", 13), "one two three\nfour five\n");
  EXPECT_EQ(help_for_terminal("one two three\nfour five\n", 80), "one two three four five\n");
}

}  // namespace
}  // namespace ridge::cli
