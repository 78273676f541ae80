#include "gpu/needed_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace ridge::gpu {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(NeededLibraries, AreThoseThatTheFileNames) {
  const auto needed = needed_libraries("/proc/self/exe");  // this test: linked against the C++ and the C library
  ASSERT_TRUE(needed.ok()) << needed.error().message;
  EXPECT_THAT(*needed, Contains("libstdc++.so.6"));
  EXPECT_THAT(*needed, Contains("libc.so.6"));
}

TEST(NeededLibraries, OnlyThoseThatTheLoaderDoesNotFindAreMissing) {
  EXPECT_THAT(missing_libraries({"libc.so.6", "libridge_nowhere.so.1", "libm.so.6", "libridge_nowhere.so.2"}),
              ElementsAre("libridge_nowhere.so.1", "libridge_nowhere.so.2"));
}

TEST(NeededLibraries, WhatIsNoSharedLibraryIsAnErrorThatSaysSo) {
  EXPECT_EQ(needed_libraries("/nowhere/libx.so").error().code, Code::kNotFound);
  const std::string path = testing::TempDir() + "/ridge_needed_libraries" + std::to_string(getpid()) + ".so";
  const Result<std::string> self = read_file("/proc/self/exe");
  ASSERT_TRUE(self.ok());
  for (const std::string& bytes :
       {std::string("hello"), std::string(200, 'x'), self->substr(0, 70), self->substr(0, 500)}) {
    ASSERT_TRUE(write_file_atomically(path, bytes).ok());
    const auto needed = needed_libraries(path);
    ASSERT_FALSE(needed.ok()) << bytes.size();
    EXPECT_EQ(needed.error().code, Code::kInvalid) << needed.error().message;
  }
}

}  // namespace
}  // namespace ridge::gpu
