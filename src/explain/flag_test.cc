#include "explain/flag.h"

#include <gtest/gtest.h>

namespace ridge::explain {
namespace {

constexpr std::string_view kHelp =
    "ridge x does a thing with --colour, which is no row.\n"
    "\n"
    "    --batch, -b N       rows of one run\n"
    "                        (default 1)\n"
    "    -o, --output DIR    where to write\n"
    "    --a DIR, --b DIR    two names; see --batch\n"
    "\n"
    "    ridge x --batch 3\n";

TEST(Flags, AreTheRowsOfTheHelpWithTheLinesBelow) {
  auto flags = flags_in("x", kHelp);
  ASSERT_EQ(flags.size(), 4u);
  EXPECT_EQ(flags[0].name, "--batch");
  EXPECT_EQ(flags[0].verb, "x");
  EXPECT_EQ(flags[0].text, "--batch, -b N: rows of one run (default 1)");
  EXPECT_EQ(flags[1].name, "--output");
  EXPECT_EQ(flags[2].name, "--a");
  EXPECT_EQ(flags[3].name, "--b");
  EXPECT_EQ(flags[3].text, flags[2].text);
}

TEST(Flags, ARowMayHaveTwoColumnsOfThem) {
  auto flags = flags_in("x", "    --a F      first (1)     --b F      second (2)\n");
  ASSERT_EQ(flags.size(), 2u);
  EXPECT_EQ(flags[0].text, "--a F: first (1)");
  EXPECT_EQ(flags[1].text, "--b F: second (2)");
}

TEST(Flags, AVerbWithoutHelpHasNone) { EXPECT_TRUE(flags_in("x", "").empty()); }

}  // namespace
}  // namespace ridge::explain
