#include "cli/terminal.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/own_colours.h"

namespace ridge::cli {
namespace {

TEST(Parse, FillsOptionsAndGoesOn) {
  CLI::App app;
  int threads = 0;
  app.add_option("--threads", threads);
  std::vector<std::string> arguments = {"--threads", "3"};
  EXPECT_TRUE(parse(app, "bench", arguments).go_on);
  EXPECT_EQ(threads, 3);
}

TEST(Parse, AnUnknownOptionIsWrongUsage) {
  CLI::App app;
  std::vector<std::string> arguments = {"--thread-count", "3"};
  ParseResult parsed = parse(app, "bench", arguments);
  EXPECT_FALSE(parsed.go_on);
  EXPECT_EQ(parsed.exit, kUsage);
}

struct Given {
  const char* option;
  const char* value;
  bool right;
};

TEST(Parse, NumbersAreDecimalAndFiniteAndTextIsNotEmpty) {
  for (const Given& given :
       {Given{"--whole", "7", true}, Given{"--whole", "-7", true}, Given{"--whole", "0x10", false},
        Given{"--whole", "9223372036854775808", false}, Given{"--real", "1e3", true}, Given{"--real", "nan", false},
        Given{"--real", "inf", false}, Given{"--real", "0x1p3", false}, Given{"--text", "", false},
        Given{"--text", "0x10", true}}) {
    CLI::App app;
    int64_t whole = 0;
    double real = 0;
    std::string text;
    app.add_option("--whole", whole);
    app.add_option("--real", real);
    app.add_option("--text", text);
    const std::vector<std::string> arguments = {given.option, given.value};
    EXPECT_EQ(parse(app, "bench", arguments).go_on, given.right) << given.option << " " << given.value;
  }
}

TEST(Parse, HelpIsNotAnError) {
  CLI::App app;
  std::vector<std::string> arguments = {"--help"};
  ParseResult parsed = parse(app, "bench", arguments);
  EXPECT_FALSE(parsed.go_on);
  EXPECT_EQ(parsed.exit, kDone);
}

TEST(Parse, EveryVerbTakesColorAndQuietBehindASubcommandToo) {
  CLI::App app;
  app.add_subcommand("list");
  std::vector<std::string> arguments = {"list", "--color", "always", "--quiet"};
  ASSERT_TRUE(parse(app, "lab", arguments).go_on);
  EXPECT_EQ(for_terminal(painted(Meaning::kFailed, "does not")), "\x1b[1;31mdoes\x1b[0m \x1b[1;31mnot\x1b[0m");
  EXPECT_EQ(note_text("a remark"), "");
  arguments = {"--color", "never"};
  CLI::App plain;
  ASSERT_TRUE(parse(plain, "lab", arguments).go_on);
  EXPECT_EQ(painted(Meaning::kFailed, "does not"), "does not");
  EXPECT_EQ(note_text("a remark"), "note: a remark\n");
}

TEST(Parse, AnUnknownColourModeIsWrongUsage) {
  CLI::App app;
  std::vector<std::string> arguments = {"--color", "sometimes"};
  EXPECT_EQ(parse(app, "bench", arguments).exit, kUsage);
}

TEST(Terminal, IsUtf8AsTheFirstLocaleThatIsSetSays) {
  setenv("LC_ALL", "", 1);
  setenv("LC_CTYPE", "de_DE.utf8", 1);
  setenv("LANG", "C", 1);
  EXPECT_TRUE(terminal_is_utf8());
  setenv("LC_ALL", "C", 1);
  EXPECT_FALSE(terminal_is_utf8());
  setenv("LC_ALL", "C.UTF-8", 1);
  EXPECT_TRUE(terminal_is_utf8());
}

}  // namespace
}  // namespace ridge::cli
