#include "front/reloaded.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/temporary_folder.h"

namespace ridge::front {
namespace {

class ReloadedTest : public testing::Test {
 protected:
  void SetUp() override {
    write("first");
    auto value = Reloaded<std::string>::open("the test", {file_}, [this]() -> Result<std::string> {
      ++reads_;
      Result<std::string> text = read_file(file_);
      if (text && *text == "bad") return invalid("bad");
      return text;
    });
    ASSERT_TRUE(value);
    value_ = *value;
  }
  void write(const std::string& text) { ASSERT_TRUE(write_file_atomically(file_, text)); }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::string file_ = folder_.path() + "/value";
  int reads_ = 0;
  std::shared_ptr<Reloaded<std::string>> value_;
};

TEST_F(ReloadedTest, IsReadAgainOnlyWhenAFileHasChanged) {
  value_->look();
  EXPECT_EQ(reads_, 1);
  const std::shared_ptr<const std::string> before = value_->current();
  write("second");
  value_->look();
  EXPECT_EQ(*value_->current(), "second");
  EXPECT_EQ(*before, "first");
  value_->look();
  EXPECT_EQ(reads_, 2);
}

TEST_F(ReloadedTest, KeepsItsValueWhileTheFileIsUnusableOrGone) {
  write("bad");
  for (int i = 0; i < 5; ++i) value_->look();
  EXPECT_EQ(*value_->current(), "first");
  EXPECT_EQ(reads_, 3);  // a second look, then no more
  std::filesystem::remove(file_);
  value_->look();
  EXPECT_EQ(*value_->current(), "first");
  write("good");
  value_->look();
  EXPECT_EQ(*value_->current(), "good");
}

TEST_F(ReloadedTest, FollowsALinkToAnotherFile) {
  const std::string other = folder_.path() + "/other", link = folder_.path() + "/link";
  ASSERT_TRUE(write_file_atomically(other, "value"));  // as long as the first, as a secret of Kubernetes may be
  std::filesystem::create_symlink(file_, link);
  const std::vector<FileStamp> before = stamps_of({link});
  std::filesystem::remove(link);
  std::filesystem::create_symlink(other, link);
  EXPECT_NE(stamps_of({link}), before);
}

TEST(Reloaded, WhatCannotBeReadAtFirstIsAnError) {
  auto value = Reloaded<int>::open("the test", {"/nonexistent"}, []() -> Result<int> { return invalid("no"); });
  EXPECT_FALSE(value);
}

}  // namespace
}  // namespace ridge::front
