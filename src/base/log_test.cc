#include "base/log.h"

#include <gtest/gtest.h>

namespace ridge {
namespace {

TEST(Log, NamesCannotForgeLinesOrSpeakToTheTerminal) {
  testing::internal::CaptureStderr();
  log::error("failed to load '{}'", "evil\n2026-01-01 E disk on fire\x1b[31m");
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(line.ends_with(" E failed to load 'evil\\n2026-01-01 E disk on fire\\x1b[31m'\n")) << line;
}

std::string shown;

TEST(Log, TextForATerminalKeepsItsLines) {
  log::set_writer([](log::Level, std::string_view message) { shown = message; });
  log::error("one\ntwo\x07");
  log::set_writer(nullptr);
  EXPECT_EQ(shown, "one\ntwo\\x07");
}

}  // namespace
}  // namespace ridge
