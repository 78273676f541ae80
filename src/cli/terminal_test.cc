#include "cli/terminal.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <vector>

namespace ridge::cli {
namespace {

TEST(Table, AlignsColumnsByCharactersNotBytes) {
  std::string text = table({"stage", "time"}, {{"load", "41.0 ms"}, {"input", "3.10 µs"}}, "lr");
  EXPECT_EQ(text, "stage     time\nload   41.0 ms\ninput  3.10 µs\n");
}

TEST(Table, LeavesNoBlanksAtTheEndOfALine) { EXPECT_EQ(table({}, {{"a", ""}, {"bb", "c"}}, "ll"), "a\nbb  c\n"); }

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

TEST(Parse, HelpIsNotAnError) {
  CLI::App app;
  std::vector<std::string> arguments = {"--help"};
  ParseResult parsed = parse(app, "bench", arguments);
  EXPECT_FALSE(parsed.go_on);
  EXPECT_EQ(parsed.exit, kDone);
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
