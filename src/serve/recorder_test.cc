#include "serve/recorder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/npz.h"
#include "serve/test_session.h"

namespace ridge::serve {
namespace {

std::vector<std::string> recorded(const TestFolder& folder, const std::string& model) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() + "/" + model, ignored))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

RecordOptions options_in(const TestFolder& folder, uint64_t most = 1000) {
  RecordOptions options;
  options.folder = folder.path();
  options.most = most;
  return options;
}

TEST(Recorder, WritesInputsThatReadBack) {
  TestFolder folder;
  {
    auto recorder = Recorder::start(options_in(folder));
    ASSERT_TRUE(recorder) << recorder.error().message;
    (*recorder)->offer("m", pair_request("m", {1, 2, 3, 4}));
  }
  const std::vector<std::string> files = recorded(folder, "m");
  ASSERT_EQ(files.size(), 1u);
  Result<std::string> file = read_file(files[0]);
  ASSERT_TRUE(file);
  Result<std::vector<NamedTensor>> arrays = read_npz(std::as_bytes(std::span(*file)), "recorded");
  ASSERT_TRUE(arrays) << arrays.error().message;
  ASSERT_EQ(arrays->size(), 1u);
  EXPECT_EQ((*arrays)[0].name, "x");
  EXPECT_EQ((*arrays)[0].tensor.shape, (Shape{2, 2}));
  EXPECT_EQ(floats_of((*arrays)[0].tensor.data.span()), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Recorder, StopsAtTheNumberOfRequests) {
  TestFolder folder;
  {
    auto recorder = Recorder::start(options_in(folder, 3));
    ASSERT_TRUE(recorder);
    for (int i = 0; i < 10; ++i) (*recorder)->offer(i % 2 ? "a" : "b", pair_request("", {1, 2}));
  }
  EXPECT_EQ(recorded(folder, "a").size() + recorded(folder, "b").size(), 3u);
}

TEST(Recorder, StopsAtTheNumberOfBytes) {
  TestFolder folder;
  RecordOptions options = options_in(folder);
  options.most_bytes = 20;  // two requests of 8 bytes
  {
    auto recorder = Recorder::start(options);
    ASSERT_TRUE(recorder);
    for (int i = 0; i < 10; ++i) (*recorder)->offer("m", pair_request("m", {1, 2}));
  }
  EXPECT_EQ(recorded(folder, "m").size(), 2u);
}

TEST(Recorder, WhatWouldWaitForTooMuchIsLeftOut) {
  TestFolder folder;
  RecordOptions options = options_in(folder);
  options.most_waiting_bytes = 7;
  auto recorder = Recorder::start(options);
  ASSERT_TRUE(recorder);
  (*recorder)->offer("m", pair_request("m", {1, 2}));
  EXPECT_EQ((*recorder)->left_out(), 1u);
}

TEST(Recorder, FolderThatVanishesEndsTheRecordingAndNothingElse) {
  TestFolder folder;
  folder.write("m", "a file where the model's folder should be");
  {
    auto recorder = Recorder::start(options_in(folder));
    ASSERT_TRUE(recorder);
    for (int i = 0; i < 5; ++i) (*recorder)->offer("m", pair_request("m", {1, 2}));
  }
  EXPECT_TRUE(std::filesystem::is_regular_file(folder.path() + "/m"));
}

TEST(Recorder, FolderThatCannotBeMadeIsAnError) {
  TestFolder folder;
  folder.write("file", "");
  RecordOptions options;
  options.folder = folder.path() + "/file/inside";
  EXPECT_FALSE(Recorder::start(options));
}

TEST(Recorder, OptionNamesFolderAndNumber) {
  EXPECT_EQ(parse_record_option("dir")->most, 1000u);
  EXPECT_EQ(parse_record_option("dir:20")->folder, "dir");
  EXPECT_EQ(parse_record_option("dir:20")->most, 20u);
  EXPECT_EQ(parse_record_option("c:/dir")->folder, "c:/dir");
  EXPECT_FALSE(parse_record_option("dir:0"));
  EXPECT_FALSE(parse_record_option("dir:99999999999999999999"));
  EXPECT_FALSE(parse_record_option(":5"));
}

TEST(Recorder, GetsWhatAServerAcceptsAndNothingElse) {
  TestFolder repository, folder;
  repository.write("m/1/model.onnx", "");
  ServerOptions options;
  options.repositories = {repository.path()};
  options.open = [](const plan::Plan&) -> Result<std::unique_ptr<engine::Session>> {
    return std::unique_ptr<engine::Session>(std::make_unique<TestSession>(pair_signature()));
  };
  options.recorder = std::shared_ptr<Recorder>(std::move(*Recorder::start(options_in(folder))));
  {
    auto server = start(options);
    ASSERT_TRUE(server);
    EXPECT_TRUE(infer(**server, pair_request("m", {1, 2})).get());
    InferRequest wrong = pair_request("m", {1, 2});
    wrong.inputs[0].name = "z";
    EXPECT_FALSE(infer(**server, wrong).get());
  }
  options.recorder.reset();
  EXPECT_EQ(recorded(folder, "m").size(), 1u);
}

}  // namespace
}  // namespace ridge::serve
