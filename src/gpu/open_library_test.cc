#include "gpu/open_library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/temporary_folder.h"
#include "gpu/test_gpus.h"

namespace ridge::gpu {
namespace {

TEST(OpenLibrary, FindsAPythonPackagesWhereTheLoaderHasNone) {
  auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder) << folder.error().message;
  const std::string packages = folder->path() + "/lib/python3.11/site-packages/nvidia/cu13/lib";
  std::filesystem::create_directories(packages);
  std::filesystem::create_symlink(test_support("libnvrtc.so.1"), packages + "/libridge-compiler.so.13");
  setenv("VIRTUAL_ENV", folder->path().c_str(), 1);
  const std::vector<std::string> names = {"libridge-compiler.so.14", "libridge-compiler.so.13"};
  auto found = open_library("", "RIDGE_NO_SUCH_VARIABLE", names, {"nvidia/other/lib", "nvidia/cu13/lib"});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->path(), packages + "/libridge-compiler.so.13");
  found->leak();
  auto missing = open_library("", "RIDGE_NO_SUCH_VARIABLE", {"libridge-compiler.so.14"}, {"nvidia/cu13/lib"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_FALSE(open_library("", "RIDGE_NO_SUCH_VARIABLE", names)) << "only where packages are asked for";
}

}  // namespace
}  // namespace ridge::gpu
