// The reference models against published counts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "cost/costs.h"
#include "model/reader.h"
#include "zoo/zoo.h"

namespace ridge::cost {
namespace {

// A reference model's file for the duration of a test.
class ReferenceModel {
 public:
  explicit ReferenceModel(const std::string& name)
      : path_(std::filesystem::path(::testing::TempDir()) /
              ("published_" + name + "_" + std::to_string(getpid()) + ".onnx")) {
    auto made = zoo::make(name, {}, path_.string());
    if (!made) ADD_FAILURE() << made.error().message;
  }
  ~ReferenceModel() { std::filesystem::remove(path_); }
  ReferenceModel(const ReferenceModel&) = delete;
  ReferenceModel& operator=(const ReferenceModel&) = delete;

  Costs count(const model::Binding& binding) const {
    auto graph = model::read(path_.string(), binding);
    if (graph) return cost::count(*graph);
    ADD_FAILURE() << graph.error().message;
    return {};
  }

 private:
  std::filesystem::path path_;
};

model::Binding batch_of(int64_t batch) {
  model::Binding binding;
  binding.batch = batch;
  return binding;
}

TEST(PublishedCounts, ResNet50Needs4089Mmac) {
  // torchvision's table: 4.089 GMAC at 224 × 224, 25 557 032 parameters. By hand: convolutions 4 087 136 256, last
  // layer 2048 · 1000.
  Costs costs = ReferenceModel("resnet50").count(batch_of(1));
  EXPECT_DOUBLE_EQ(costs.macs, 4087136256.0 + 2048000.0);
  EXPECT_EQ(costs.parameters, 25557032);
  EXPECT_TRUE(costs.without_rule.empty());
  EXPECT_TRUE(costs.unknown_shapes.empty());
}

TEST(PublishedCounts, WorkGrowsWithTheBatchAndWeightsDoNot) {
  ReferenceModel resnet("resnet50");
  Costs one = resnet.count(batch_of(1)), eight = resnet.count(batch_of(8));
  EXPECT_DOUBLE_EQ(eight.macs, 8 * one.macs);
  EXPECT_DOUBLE_EQ(eight.weight_bytes, one.weight_bytes);
}

// Per layer and token: four projections of h², two of h · 4h; per pair of tokens scores and values, h each. s tokens,
// 12 layers, h = 768, and the pooler's h².
double bert_macs(double s) {
  constexpr double kHidden = 768;
  return 12 * (12 * s * kHidden * kHidden + 2 * s * s * kHidden) + kHidden * kHidden;
}

TEST(PublishedCounts, BertBaseNeeds22And71Gflop) {
  // Published for 128 tokens: 22.5 GFLOP (Sun et al., MobileBERT, 2020, table 4); the formula gives 22.35, and 70.7 for
  // 384.
  ReferenceModel bert("bert-base");
  for (auto [tokens, gflop] : {std::pair{128, 22.35}, std::pair{384, 70.67}}) {
    model::Binding binding = batch_of(1);
    binding.symbols["sequence"] = tokens;
    Costs costs = bert.count(binding);
    EXPECT_DOUBLE_EQ(costs.macs, bert_macs(tokens)) << tokens;
    EXPECT_NEAR(2e-9 * costs.macs, gflop, 0.01) << tokens;
    EXPECT_NEAR(1e-9 * costs.flops, gflop, 0.02 * gflop) << tokens;  // and everything elementwise
    EXPECT_TRUE(costs.without_rule.empty());
    EXPECT_TRUE(costs.unknown_shapes.empty());
  }
}

TEST(PublishedCounts, Yolov8xNeeds258Gflop) {
  // Ultralytics' table: 257.8 GFLOPs at 640 × 640, 68.2 M parameters.
  Costs costs = ReferenceModel("yolov8x").count(batch_of(1));
  EXPECT_NEAR(2e-9 * costs.macs, 257.8, 0.01 * 257.8);
  EXPECT_NEAR(1e-6 * static_cast<double>(costs.parameters), 68.2, 0.1);
  EXPECT_TRUE(costs.without_rule.empty());
  EXPECT_TRUE(costs.unknown_shapes.empty());
}

}  // namespace
}  // namespace ridge::cost
