#include "engine/onnxruntime/nvidia_packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

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

}  // namespace
}  // namespace ridge::engine::onnxruntime
