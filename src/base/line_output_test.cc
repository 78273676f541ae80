#include "base/line_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace ridge {
namespace {

// A pipe that takes four pages.
class LineOutputTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    ASSERT_EQ(fcntl(ends_[1], F_SETPIPE_SZ, kBytes), kBytes);
  }
  void TearDown() override {
    for (const int end : ends_) close(end);
  }
  std::string read_all() {
    std::string text(4 * kBytes, '\0');
    text.resize(static_cast<size_t>(::read(ends_[0], text.data(), text.size())));
    return text;
  }

  static constexpr int kBytes = 4 * 4096;
  std::array<int, 2> ends_{};
};

TEST_F(LineOutputTest, CountsEachLineThatAStoppedReaderDoesNotTake) {
  LineOutput output(ends_[1], [](uint64_t lines) { return "lost " + std::to_string(lines) + "\n"; });
  output.write(std::string(kBytes - 1, '.') + "\n");
  output.write("a\nb\nc\n");
  output.write("d\n");
  EXPECT_EQ(read_all(), std::string(kBytes - 1, '.') + "\n");
  output.count_dropped(2);
  output.write("e\nf\n");
  EXPECT_EQ(read_all(), "lost 6\ne\nf\n");
}

TEST_F(LineOutputTest, ALineThatWasCutEndsBeforeTheNextBegins) {
  LineOutput output(ends_[1], [](uint64_t lines) { return "lost " + std::to_string(lines) + "\n"; });
  output.write(std::string(kBytes + 2000, '.') + "\nnext\n");
  EXPECT_EQ(read_all(), std::string(kBytes, '.'));
  output.write("a\n");
  EXPECT_EQ(read_all(), "\nlost 2\na\n");
}

TEST(LineOutput, KeepsTheErrorOfAWriteThatFailedAndCountsItsLines) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  LineOutput output(full, [](uint64_t lines) { return "lost " + std::to_string(lines) + "\n"; });
  EXPECT_EQ(output.error(), 0);
  output.write("a\nb\n");
  EXPECT_EQ(output.error(), ENOSPC);
  output.set_descriptor(ends[1]);
  output.write("");
  EXPECT_EQ(output.error(), 0);
  char text[64];
  EXPECT_EQ(std::string_view(text, static_cast<size_t>(::read(ends[0], text, sizeof text))), "lost 2\n");
  close(full);
  for (const int end : ends) close(end);
}

}  // namespace
}  // namespace ridge
