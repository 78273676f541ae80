#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace ridge {
namespace {

TEST(Log, NamesCannotForgeLinesOrSpeakToTheTerminal) {
  testing::internal::CaptureStderr();
  log::error("failed to load '{}'", "evil\n2026-01-01 E disk on fire\x1b[31m");
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(line.ends_with(" E failed to load 'evil\\n2026-01-01 E disk on fire\\x1b[31m'\n")) << line;
}

// Standard error as a small pipe that is full.
class FullPipe {
 public:
  FullPipe() : saved_(dup(STDERR_FILENO)) {
    EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    EXPECT_EQ(fcntl(ends_[1], F_SETPIPE_SZ, kBytes), kBytes);
    dup2(ends_[1], STDERR_FILENO);
    const std::string dots(kBytes, '.');
    EXPECT_EQ(::write(STDERR_FILENO, dots.data(), dots.size()), kBytes);
  }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;
  ~FullPipe() {
    dup2(saved_, STDERR_FILENO);
    for (const int end : {saved_, ends_[0], ends_[1]}) close(end);
  }
  std::string read_once() const {
    std::string text(kBytes, '\0');
    text.resize(static_cast<size_t>(std::max<ssize_t>(0, ::read(ends_[0], text.data(), text.size()))));
    return text;
  }

 private:
  static constexpr int kBytes = 4 * 4096;
  std::array<int, 2> ends_{};
  int saved_;
};

TEST(Log, WaitsForNoReaderAndCountsWhatItDropped) {
  const FullPipe pipe;
  for (int i = 0; i < 50; ++i) log::error("lost {}", i);
  EXPECT_EQ(pipe.read_once().find("lost"), std::string::npos);
  log::error("kept");
  const std::string text = pipe.read_once();
  EXPECT_NE(text.find(" W 50 lines of the log dropped"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(" E kept\n")) << text;
  log::error("next");
  EXPECT_TRUE(pipe.read_once().ends_with(" E next\n"));
}

TEST(Log, JsonIsOneObjectALine) {
  testing::internal::CaptureStderr();
  log::set_format(log::Format::kJson);
  log::warning("two\nlines of '{}'", "\xff\x1b");
  log::set_format(log::Format::kText);
  const std::string line = testing::internal::GetCapturedStderr();
  ASSERT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  const Result<Json> json = parse_json(line, "the line");
  ASSERT_TRUE(json) << line;
  EXPECT_EQ(json->at("level"), "warning");
  EXPECT_EQ(json->at("message"), "two\nlines of '\xef\xbf\xbd\x1b'");
  EXPECT_EQ(json->at("time").get<std::string>().size(), std::string("2026-11-26T01:38:36.123Z").size());
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
