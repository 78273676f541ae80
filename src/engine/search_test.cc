#include "engine/search.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ridge::engine {
namespace {

namespace fs = std::filesystem;

const LibraryQuery kOnnxRuntime{"libonnxruntime.so", "onnxruntime/capi", "onnxruntime", "RIDGE_ONNXRUNTIME", {"lib"}};

class Search : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            (testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_ / "project" / "build");
    around_.executable_folder = (root_ / "project" / "build").string();
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string touch(const std::string& path) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << "x";
    return (root_ / path).string();
  }

  fs::path root_;
  Surroundings around_;
};

TEST_F(Search, AsksDepsThenPythonThenTheSystem) {
  std::vector<LibraryLocation> found = places(kOnnxRuntime, around_);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NE(found[0].what.find(".deps"), std::string::npos);
  EXPECT_NE(found[1].what.find("site-packages"), std::string::npos);
  EXPECT_EQ(found[2].files, (std::vector<std::string>{"libonnxruntime.so", "libonnxruntime.so.1"}));
}

TEST_F(Search, FindsTheWheelInDepsAboveTheProgram) {
  std::string wheel =
      touch("project/.deps/python/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.31.1");
  touch("project/.deps/python/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime_providers_shared.so");
  EXPECT_EQ(places(kOnnxRuntime, around_)[0].files, std::vector<std::string>{wheel});
}

TEST_F(Search, FindsAWheelThatLiesInAFolderOfItsOwn) {
  const LibraryQuery openvino{"libopenvino.so.2641", "openvino/libs", "openvino", "RIDGE_OPENVINO", {"libs"}};
  std::string wheel = touch("project/.deps/openvino/openvino/libs/libopenvino.so.2641");
  touch("project/.deps/openvino/openvino/libs/libopenvino.so.2630");
  touch("project/.deps/openvino/openvino/libs/libopenvino_c.so.2641");
  EXPECT_EQ(places(openvino, around_)[0].files, std::vector<std::string>{wheel});
  around_.wanted = (root_ / "project/.deps/openvino/openvino").string();
  EXPECT_EQ(places(openvino, around_)[0].files, std::vector<std::string>{wheel});
}

TEST_F(Search, FindsTheWheelOfAVirtualEnvironmentAndOfPythonOnThePath) {
  std::string in_venv = touch("venv/lib/python3.12/site-packages/onnxruntime/capi/libonnxruntime.so.1.30.0");
  std::string on_path = touch("opt/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.29.0");
  touch("opt/bin/python3");
  around_.python.virtual_environment = (root_ / "venv").string();
  around_.python.path = {(root_ / "opt" / "bin").string()};
  std::vector<std::string> files = places(kOnnxRuntime, around_)[1].files;
  ASSERT_GE(files.size(), 2u);
  EXPECT_EQ(files[0], in_venv);
  EXPECT_EQ(files[1], on_path);
}

TEST_F(Search, TheEnvironmentThatHoldsTheProgramIsFirst) {
  const std::string folder = (root_ / "project/venv/lib/python3.12/site-packages/ridge/bin").string();
  std::string in_deps = touch("project/.deps/onnxruntime/lib/libonnxruntime.so");
  std::string own = touch("project/venv/lib/python3.12/site-packages/onnxruntime/capi/libonnxruntime.so.1.30.0");
  touch("other/lib/python3.12/site-packages/onnxruntime/capi/libonnxruntime.so.1.30.0");
  around_.executable_folder = folder;
  around_.python.own = gpu::prefix_around(folder);
  around_.python.virtual_environment = (root_ / "other").string();
  EXPECT_EQ(around_.python.own, (root_ / "project/venv").string());
  const std::vector<LibraryLocation> found = places(kOnnxRuntime, around_);
  ASSERT_FALSE(found[0].files.empty());
  EXPECT_EQ(found[0].files[0], own);
  EXPECT_EQ(found[1].files, std::vector<std::string>{in_deps});
  EXPECT_EQ(gpu::prefix_around((root_ / "project/build").string()), "");
}

TEST_F(Search, AnEmptyPlaceSaysWhereItLooked) {
  LibraryLocation deps = places(kOnnxRuntime, around_)[0];
  EXPECT_TRUE(deps.files.empty());
  EXPECT_NE(deps.reason.find(around_.executable_folder), std::string::npos);
}

TEST_F(Search, ANamedLibraryIsTheOnlyPlace) {
  around_.environment = "/from/environment/libonnxruntime.so";
  ASSERT_EQ(places(kOnnxRuntime, around_).size(), 1u);
  EXPECT_EQ(places(kOnnxRuntime, around_)[0].files, std::vector<std::string>{"/from/environment/libonnxruntime.so"});
  around_.wanted = "/from/flag/libonnxruntime.so";
  ASSERT_EQ(places(kOnnxRuntime, around_).size(), 1u);
  EXPECT_EQ(places(kOnnxRuntime, around_)[0].files, std::vector<std::string>{"/from/flag/libonnxruntime.so"});
}

TEST_F(Search, ALibraryNamedForAnotherEngineIsNotTaken) {
  around_.wanted = "/from/flag/libopenvino.so.2641";
  EXPECT_EQ(places(kOnnxRuntime, around_).size(), 3u);
}

TEST_F(Search, ANamedFolderIsSearched) {
  std::string library = touch("ort/lib/libonnxruntime.so.1.31.1");
  around_.wanted = (root_ / "ort").string();
  EXPECT_EQ(places(kOnnxRuntime, around_)[0].files, std::vector<std::string>{library});
}

}  // namespace
}  // namespace ridge::engine
