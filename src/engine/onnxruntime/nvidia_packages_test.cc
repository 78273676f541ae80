#include "engine/onnxruntime/nvidia_packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/dynlib.h"
#include "base/file.h"
#include "base/temporary_folder.h"

namespace ridge::engine::onnxruntime {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

// A python environment with the packages of onnxruntime-gpu[cuda,cudnn]; old and new ones.
class NvidiaPackages : public testing::Test {
 protected:
  NvidiaPackages() : folder_(*TemporaryFolder::make()), packages_(folder_.path() + "/lib/python3.11/site-packages") {
    for (const char* file :
         {"onnxruntime/capi/libonnxruntime.so.1.31.1", "nvidia/cu13/lib/libcublas.so.13",
          "nvidia/cudnn/lib/libcudnn.so.9", "nvidia/no_libraries/x", "tensorrt_libs/libnvinfer.so.10"})
      EXPECT_TRUE(write_file_atomically(packages_ + "/" + file, "").ok());
  }
  TemporaryFolder folder_;
  std::string packages_;
};

TEST_F(NvidiaPackages, AreFoundBesideARuntimeOfTheSameEnvironment) {
  const std::string root = fs::canonical(packages_).string();
  EXPECT_THAT(nvidia_folders(packages_ + "/onnxruntime/capi/libonnxruntime.so.1.31.1"),
              ElementsAre(root + "/nvidia/cu13/lib", root + "/nvidia/cudnn/lib", root + "/tensorrt_libs"));
  EXPECT_THAT(nvidia_folders(packages_ + "/nvidia/cu13/lib/libcublas.so.13"), IsEmpty()) << "not a python runtime";
  EXPECT_THAT(nvidia_folders("/nowhere/onnxruntime/capi/libonnxruntime.so"), IsEmpty());
}

// Three libraries in folders that no loader searches: NVRTC, which needs another one, and its builtins, which it will
// ask for by name.
TEST_F(NvidiaPackages, OpenWithWhatTheyNeedAndWhatIsAskedForLater) {
  const std::string first = packages_ + "/nvidia/first/lib", second = packages_ + "/nvidia/second/lib";
  fs::create_directories(first);
  fs::create_directories(second);
  const std::string support = RIDGE_TEST_SUPPORT;
  fs::copy_file(support + "/libridge-needed.so.1", first + "/libridge-needed.so.1");
  fs::copy_file(support + "/libridge-needing.so.1", second + "/libnvrtc.so.13");
  fs::copy_file(support + "/libridge-builtins.so.1", second + "/libnvrtc-builtins.so.13.0");
  const std::vector<std::string> names = {"libridge-needed.so.1", "libridge-needing.so.1", "libridge-builtins.so.1"};
  EXPECT_FALSE(DynamicLibrary::open(second + "/libnvrtc.so.13")) << "the loader does not find what it needs";
  for (const std::string& name : names) EXPECT_FALSE(DynamicLibrary::open(name)) << name;
  open_needed(packages_ + "/onnxruntime/capi/libonnxruntime.so.1.31.1", {second, first});
  for (const std::string& name : names) EXPECT_TRUE(DynamicLibrary::open(name)) << name;
}

// A provider's own needs are opened before it, and theirs before them.
TEST_F(NvidiaPackages, OpenWhatALibraryNeedsBeforeIt) {
  const std::string folder = packages_ + "/nvidia/first/lib", support = RIDGE_TEST_SUPPORT;
  fs::create_directories(folder);
  for (const char* file : {"/libridge-needed.so.1", "/libridge-needing.so.1"})
    fs::copy_file(support + file, folder + file);
  EXPECT_FALSE(DynamicLibrary::open(support + "/libridge-provider.so.1"));
  open_needed(support + "/libridge-provider.so.1", {folder});
  EXPECT_TRUE(DynamicLibrary::open(support + "/libridge-provider.so.1"));
}

}  // namespace
}  // namespace ridge::engine::onnxruntime
