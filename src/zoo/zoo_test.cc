#include "zoo/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "model/reader.h"
#include "zoo/random.h"

namespace ridge::zoo {
namespace {

using testing::HasSubstr;

class Zoo : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  std::string bytes(const std::string& name, const ZooOptions& options) const {
    EXPECT_TRUE(make(name, options, file("m.onnx")).ok());
    return read_file(file("m.onnx")).value();
  }
  TemporaryFolder temporary_ = *TemporaryFolder::make();
  std::string folder_ = temporary_.path();
};

TEST_F(Zoo, HasThePublishedParameterCounts) {
  const std::map<std::string, int64_t> published = {{"resnet50", 25'557'032},  {"bert-base", 109'482'240},
                                                    {"yolov8x", 68'200'608},   {"sd-unet", 859'520'964},
                                                    {"mlp", 25'076'712},       {"identity", 0},
                                                    {"llama-90m", 88'099'584}, {"llama-1b", 1'100'048'384}};
  const std::string listed = describe("", {}).error().message;
  EXPECT_EQ(static_cast<size_t>(std::count(listed.begin(), listed.end(), ',')), published.size() - 1) << listed;
  for (const auto& [name, parameters] : published) {
    Result<ZooDescription> described = describe(name, {});
    ASSERT_TRUE(described.ok());
    EXPECT_EQ(described->parameters, parameters) << name;
  }
}

TEST_F(Zoo, ReaderCountsTheParametersOfTheWrittenFile) {
  ASSERT_TRUE(make("resnet50", {}, file("r.onnx")).ok());
  model::Binding binding;
  binding.batch = 4;
  Result<model::Graph> graph = model::read(file("r.onnx"), binding);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->parameters, 25'557'032);
  EXPECT_EQ(graph->output_specs[0].shape, (Shape{4, 1000}));
  EXPECT_EQ(graph->output_specs[0].name, "output");
}

// The whole U-Net has 3.4 GB of weights; a tenth of the width has the same graph.
TEST_F(Zoo, NarrowUnetHasEveryShape) {
  ZooOptions options;
  options.channels = 32;
  ASSERT_TRUE(make("sd-unet", options, file("u.onnx")).ok());
  model::Binding binding;
  binding.batch = 2;
  Result<model::Graph> graph = model::read(file("u.onnx"), binding);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->output_specs[0].shape, (Shape{2, 4, 64, 64}));
  EXPECT_EQ(graph->parameters, describe("sd-unet", options)->parameters);
  for (const model::Node& node : graph->nodes)
    for (int output : node.outputs) {
      const auto& shape = graph->tensors[static_cast<size_t>(output)].shape;
      ASSERT_TRUE(shape && element_count(*shape)) << node.name;
    }
}

TEST_F(Zoo, OneSeedGivesOneFile) {
  ZooOptions seven;
  seven.seed = 7;
  const std::string first = bytes("mlp", {});
  EXPECT_TRUE(first == bytes("mlp", {}));
  EXPECT_FALSE(first == bytes("mlp", seven));
}

TEST_F(Zoo, IdentityHasEveryTensorType) {
  for (const char* name : {"BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16",
                           "FP32", "FP64", "BYTES", "BF16"}) {
    ZooOptions options;
    options.type = data_type_from_name(name);
    Result<model::Graph> graph = model::read_bytes(bytes("identity", options), "");
    ASSERT_TRUE(graph.ok()) << name;
    EXPECT_EQ(graph->input_specs[0].spec.type, options.type) << name;
    EXPECT_EQ(graph->output_specs[0].type, options.type) << name;
  }
}

TEST_F(Zoo, RefusesUnknownNamesAndOptionsThatDoNotFit) {
  EXPECT_THAT(describe("alexnet", {}).error().message, HasSubstr("there are resnet50, bert-base"));
  auto refuses = [](const char* name, auto change) {
    ZooOptions options;
    change(options);
    return !describe(name, options).ok();
  };
  EXPECT_TRUE(refuses("resnet50", [](ZooOptions& o) { o.batch = 0; }));
  EXPECT_TRUE(refuses("resnet50", [](ZooOptions& o) { o.sequence = 8; }));
  EXPECT_TRUE(refuses("resnet50", [](ZooOptions& o) { o.type = DataType::kFp16; }));
  EXPECT_TRUE(refuses("bert-base", [](ZooOptions& o) { o.image_size = 224; }));
  EXPECT_TRUE(refuses("bert-base", [](ZooOptions& o) { o.sequence = 513; }));
  EXPECT_TRUE(refuses("yolov8x", [](ZooOptions& o) { o.image_size = 100; }));
  EXPECT_TRUE(refuses("mlp", [](ZooOptions& o) { o.opset = 5; }));
}

TEST_F(Zoo, LeavesNothingBehindWhenItCannotWrite) {
  std::filesystem::create_directory(file("taken"));
  EXPECT_THAT(make("identity", {}, file("taken")).error().message, HasSubstr("not a file"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Zoo, ReplacesAnExistingFile) {
  std::ofstream(file("m.onnx")) << "old";
  ASSERT_TRUE(make("identity", {}, file("m.onnx")).ok());
  EXPECT_TRUE(model::read(file("m.onnx")).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST(ZooRandom, HasTheMeanAndDeviationAskedFor) {
  std::vector<float> values(100'000);
  fill_uniform(values, stream_key(1, 2), 0, 0.5F, 2.0F);
  double sum = 0, squares = 0;
  for (float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double mean = sum / static_cast<double>(values.size());
  EXPECT_NEAR(mean, 0.5, 0.03);  // 5 standard errors of 2 / √100000
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(values.size()) - mean * mean), 2.0, 0.03);
}

TEST(ZooRandom, PiecesEqualTheWhole) {
  const uint64_t key = stream_key(0, 0);
  std::vector<float> whole(101), piece(51);
  fill_uniform(whole, key, 0, 0, 1);
  fill_uniform(piece, key, 50, 0, 1);
  EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + 50));
  EXPECT_NE(stream_key(0, 1), stream_key(1, 0));
}

}  // namespace
}  // namespace ridge::zoo
