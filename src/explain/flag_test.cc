#include "explain/flag.h"

#include <gtest/gtest.h>

namespace ridge::explain {
namespace {

constexpr std::string_view kHelp =
    "# ridge x\n"
    "\n"
    "`ridge x` does a thing with `--colour`, which is no item.\n"
    "\n"
    "- `--batch, -b N`: rows of one run\n"
    "  (default 1)\n"
    "- `-o, --output DIR`: where to write\n"
    "- `--a DIR, --b DIR`: two names; see `--batch`\n"
    "- `-- COMMAND...`: what to run\n"
    "  with\n"
    "\n"
    "    ridge x --batch 3\n";

TEST(Flags, AreTheItemsOfTheHelpWithTheLinesBelow) {
  auto flags = flags_in("x", kHelp);
  ASSERT_EQ(flags.size(), 5u);
  EXPECT_EQ(flags[1].name, "--batch");
  EXPECT_EQ(flags[1].verb, "x");
  EXPECT_EQ(flags[1].text, "--batch, -b N: rows of one run (default 1)");
  EXPECT_EQ(flags[2].name, "--output");
  EXPECT_EQ(flags[3].name, "--a");
  EXPECT_EQ(flags[4].name, "--b");
  EXPECT_EQ(flags[4].text, "--a DIR, --b DIR: two names; see --batch");
}

TEST(Flags, TheFirstIsTheVerbWithItsFirstParagraph) {
  const Flag verb = flags_in("x", kHelp).front();
  EXPECT_EQ(verb.name, "");
  EXPECT_EQ(verb.text, "ridge x does a thing with --colour, which is no item.");
}

TEST(Flags, ChineseIsOfEveryVerbUnlessOneHasItsOwn) {
  std::vector<Flag> flags = {
      {"--size", "power", "--size N"}, {"--size", "doctor", "--size N"}, {"--new", "doctor", "--new"}};
  add_chinese("# a comment: none\n--size: 大小\npower --size: 边长\n", flags);
  EXPECT_EQ(flags[0].chinese, "--size：边长");
  EXPECT_EQ(flags[1].chinese, "--size：大小");
  EXPECT_EQ(flags[2].chinese, "");
}

TEST(Flags, AVerbWithoutHelpHasNone) { EXPECT_TRUE(flags_in("x", "").empty()); }

}  // namespace
}  // namespace ridge::explain
