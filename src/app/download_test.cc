#include "app/download.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"

namespace ridge::app {
namespace {

// A curl that "downloads" 1000 bytes.
class DownloadTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string curl = folder_.path() + "/curl";
    std::ofstream(curl) << "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = --output ] && out=$2; shift; done\n"
                           "head -c 1000 /dev/zero > $out\n";
    std::filesystem::permissions(curl, std::filesystem::perms::owner_all);
    path_ = getenv("PATH");
    setenv("PATH", (folder_.path() + ":" + path_).c_str(), 1);
  }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }

  TemporaryFolder folder_ = *TemporaryFolder::make();
  std::string path_;
};

TEST_F(DownloadTest, KeepsTheFileUnderItsNameByContent) {
  const Result<std::string> file = download("http://x/a/m.onnx?v=1", {.folder = folder_.path() + "/kept"}, {});
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(*file, folder_.path() + "/kept/541b3e9daa09b20b/m.onnx");
  EXPECT_EQ(std::filesystem::file_size(*file), 1000u);
}

TEST_F(DownloadTest, RefusesAnotherContentAndAnAddressWithoutAFile) {
  const std::string none(64, '0');
  const DownloadOptions options{.folder = folder_.path() + "/kept"};
  EXPECT_EQ(download("http://x/m.onnx#sha256=" + none, options, {}).error().code, Code::kInvalid);
  EXPECT_FALSE(std::filesystem::exists(options.folder));
  EXPECT_FALSE(download("http://x/m.onnx#sha256=12", options, {}));
  EXPECT_FALSE(download("http://x", options, {}));
  EXPECT_FALSE(download("http://x/", options, {}));
}

TEST_F(DownloadTest, TellsWhatIsTooLargeByCurlsExitStatus) {
  const DownloadOptions options{.folder = folder_.path() + "/kept"};
  std::ofstream(folder_.path() + "/curl") << "#!/bin/sh\nexit 63\n";
  EXPECT_EQ(download("http://x/m.onnx", options, {}).error().code, Code::kExhausted);
  std::ofstream(folder_.path() + "/curl") << "#!/bin/sh\necho the server answers with status 63; exit 22\n";
  EXPECT_EQ(download("http://x/m.onnx", options, {}).error().code, Code::kFailed);
}

TEST_F(DownloadTest, LeavesTheUnfinishedFileOfAnotherProcess) {
  const std::string folder = folder_.path() + "/kept/541b3e9daa09b20b";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/m.onnx.part") << "half";
  ASSERT_TRUE(download("http://x/m.onnx", {.folder = folder_.path() + "/kept"}, {}));
  EXPECT_EQ(std::filesystem::file_size(folder + "/m.onnx.part"), 4u);
}

TEST(Download, KnowsAUrl) {
  EXPECT_TRUE(is_url("https://x/m.onnx"));
  EXPECT_FALSE(is_url("ftp://x/m.onnx"));
  EXPECT_FALSE(is_url("m.onnx"));
}

}  // namespace
}  // namespace ridge::app
