#include "gpu/open_library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "base/temporary_folder.h"
#include "gpu/test_gpus.h"

namespace ridge::gpu {
namespace {

// A python's packages with a library of major 13 in them.
class OpenLibrary : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(folder_) << folder_.error().message;
    packages_ = folder_->path() + "/lib/python3.11/site-packages/nvidia/cu13/lib";
    std::filesystem::create_directories(packages_);
    std::filesystem::create_symlink(test_support("libnvrtc.so.1"), packages_ + "/libridge-compiler.so.13");
    setenv("VIRTUAL_ENV", folder_->path().c_str(), 1);
  }

  Result<TemporaryFolder> folder_ = TemporaryFolder::make();
  std::string packages_;
};

TEST_F(OpenLibrary, FindsAPythonPackagesWhereTheLoaderHasNone) {
  const std::vector<std::string> names = {"libridge-compiler.so.14", "libridge-compiler.so.13"};
  auto found = open_library("", "RIDGE_NO_SUCH_VARIABLE", names, {"nvidia/other/lib", "nvidia/cu13/lib"});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->path(), packages_ + "/libridge-compiler.so.13");
  found->leak();
  auto missing = open_library("", "RIDGE_NO_SUCH_VARIABLE", {"libridge-compiler.so.14"}, {"nvidia/cu13/lib"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_FALSE(open_library("", "RIDGE_NO_SUCH_VARIABLE", names)) << "only where packages are asked for";
}

std::string* noted = nullptr;  // warnings of the log

TEST_F(OpenLibrary, TakesAPackagesNewestBeforeTheLoadersOlder) {
  auto found =
      open_library("", "RIDGE_NO_SUCH_VARIABLE", {"libridge-compiler.so.13", "libc.so.6"}, {"nvidia/cu13/lib"});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->path(), packages_ + "/libridge-compiler.so.13");
  found->leak();
  std::string warnings;
  noted = &warnings;
  log::set_writer([](log::Level level, std::string_view message) {
    if (level == log::Level::kWarning) *noted += message;
  });
  auto older =
      open_library("", "RIDGE_NO_SUCH_VARIABLE", {"libridge-compiler.so.14", "libc.so.6"}, {"nvidia/cu13/lib"});
  ASSERT_TRUE(older) << older.error().message;
  EXPECT_EQ(older->path(), "libc.so.6");
  EXPECT_EQ(warnings, "libc.so.6 is used, as there is no libridge-compiler.so.14");
  warnings.clear();
  EXPECT_TRUE(open_library("", "RIDGE_NO_SUCH_VARIABLE", {"libc.so.6", "libm.so.6"}, {"nvidia/cu13/lib"}));
  EXPECT_EQ(warnings, "") << "the newest was there";
  log::set_writer(nullptr);
}

}  // namespace
}  // namespace ridge::gpu
