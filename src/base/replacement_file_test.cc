#include "base/replacement_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace ridge {
namespace {

class ReplacementFileTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::ptrdiff_t files() const { return std::distance(std::filesystem::directory_iterator(folder_.path()), {}); }

  TemporaryFolder folder_ = TemporaryFolder::make().value();
};

// The number of a process that has ended after `body`, without destructors.
pid_t killed_after(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  return child;
}

TEST_F(ReplacementFileTest, ReplacesItsTargetOnlyWhenItIsCommitted) {
  for (const char* content : {"first", "second"}) {
    auto file = ReplacementFile::open(path("a.bin"));
    ASSERT_TRUE(file && file->append(content));
    EXPECT_NE(text_or_empty(path("a.bin")), content);
    ASSERT_TRUE(file->commit());
    EXPECT_EQ(text_or_empty(path("a.bin")), content);
    EXPECT_EQ(files(), 1);
  }
}

TEST_F(ReplacementFileTest, AKilledProcessLeavesNothing) {
  killed_after([&] {
    auto file = ReplacementFile::open(path("a.bin"));
    (void)file->append("a part");
  });
  // A file system without unnamed files has the next one tidy up.
  ASSERT_TRUE(ReplacementFile::open(path("a.bin"))->commit());
  EXPECT_EQ(files(), 1);
}

TEST_F(ReplacementFileTest, WhatAnEndedProcessLeftUnderATemporaryNameIsRemoved) {
  const std::string dead = std::to_string(killed_after([] {}));
  std::filesystem::create_directories(path("folder.tmp" + dead + "-0/inner"));
  std::filesystem::create_directories(path("folder.tmp" + std::to_string(getppid()) + "-0"));  // it still runs
  for (const char* name : {"other.tmp", "folder.tmpx-", "folder.tmp"})
    ASSERT_TRUE(write_file_atomically(path(name + dead), "another's"));
  temporary_name(path("folder.tmp"));
  EXPECT_FALSE(std::filesystem::exists(path("folder.tmp" + dead + "-0")));
  EXPECT_EQ(files(), 4);
}

}  // namespace
}  // namespace ridge
