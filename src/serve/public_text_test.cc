#include "serve/public_text.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/temporary_folder.h"

namespace ridge::serve {
namespace {

TEST(PublicText, NamesFilesByTheirPlaceInTheRepository) {
  EXPECT_EQ(without_folders("read /srv/models/a/1/model.onnx: no", {{"/srv/models", ""}}), "read a/1/model.onnx: no");
  EXPECT_EQ(without_folders("'/srv/models/a', '/srv/models-old/b'", {{"/srv/models/", ""}}),
            "'a', '/srv/models-old/b'");
  EXPECT_EQ(without_folders("in /tmp/x1/1/model.onnx", {{"/tmp/x1", "sent/"}}), "in sent/1/model.onnx");
}

TEST(PublicText, TheNameOfARepositoryWithinAnotherPathStays) {
  EXPECT_EQ(without_folders("read other/m/a and m/a", {{"m", ""}}), "read other/m/a and a");
  EXPECT_EQ(without_folders("/srv/a/b/c", {{"/srv/a", "A/"}, {"/srv/a/b", "B/"}}), "B/c") << "the innermost";
}

TEST(PublicText, KnowsARepositoryByItsRealNameToo) {
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  std::filesystem::create_directory(folder->path() + "/real");
  std::filesystem::create_directory_symlink("real", folder->path() + "/link");
  EXPECT_EQ(without_folders(folder->path() + "/real/a", {{folder->path() + "/link", ""}}), "a");
}

}  // namespace
}  // namespace ridge::serve
