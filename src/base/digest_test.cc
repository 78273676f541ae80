#include "base/digest.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/temporary_folder.h"

namespace ridge {
namespace {

namespace fs = std::filesystem;

class DigestTest : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return (folder_ / name).string();
  }

  TemporaryFolder temporary_ = *TemporaryFolder::make();
  fs::path folder_ = temporary_.path();
};

TEST_F(DigestTest, SameContentUnderAnotherNameIsTheSame) {
  std::string content(3'000'001, 'a');
  EXPECT_EQ(digest_files({file("a", content)}).value(), digest_files({file("b", content)}).value());
}

TEST_F(DigestTest, AnyChangedBitSizeOrSplitIsAnother) {
  std::string content(2'000'003, 'a');
  std::set<std::string> seen{digest_files({file("0", content)}).value()};
  for (size_t at : {size_t{0}, size_t{1}, size_t{1'048'576}, content.size() - 1}) {
    std::string changed = content;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_TRUE(seen.insert(digest_files({file("1", changed)}).value()).second) << at;
  }
  EXPECT_TRUE(seen.insert(digest_files({file("2", content + std::string(1, '\0'))}).value()).second);
  EXPECT_TRUE(seen.insert(digest_files({file("3", content), file("4", "")}).value()).second);
}

TEST_F(DigestTest, MissingFileIsAnErrorThatNamesIt) {
  Result<std::string> digest = digest_files({(folder_ / "absent.onnx").string()});
  ASSERT_FALSE(digest);
  EXPECT_NE(digest.error().message.find("absent.onnx"), std::string::npos);
}

}  // namespace
}  // namespace ridge
