#include "predict/carried_over.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "catalogue/catalogue.h"
#include "model/reader.h"
#include "zoo/zoo.h"

namespace ridge::predict {
namespace {

// MLPerf Inference, datacenter and edge, closed division, ResNet-50, INT8, scenario Offline: images per second and
// device; the best valid result of each device in the rounds named (mlcommons/inference_results_<round>, NVIDIA).
struct PublishedResult {
  std::string_view device;
  double figure;
  std::string_view rounds;
};
constexpr PublishedResult kOffline[] = {
    {"Tesla T4", 6121, "v0.7 to v3.0"},
    {"Quadro RTX 6000", 14783, "v0.7"},
    {"Quadro RTX 8000", 14901, "v0.7"},
    {"A2", 3024, "v1.1 to v2.0"},
    {"A10", 13775, "v1.0 to v1.1"},
    {"A30", 18647, "v1.0 to v2.0"},
    {"A40", 19056, "v1.0"},
    {"A100 PCIe 40GB", 32008, "v0.7"},
    {"A100 SXM4 40GB", 37480, "v0.7"},
    {"A100 PCIe 80GB", 39543, "v1.0 to v3.0"},
    {"A100 SXM4 80GB", 41893, "v1.0 to v3.0"},
    {"Jetson AGX Orin 64GB", 6438, "v2.0 to v3.0"},
    {"L4", 13158, "v3.0"},
    {"H100 PCIe 80GB", 57115, "v3.0"},
    {"H100 SXM5 80GB", 90930, "v3.0"},
};

cost::Costs resnet50(int64_t batch, Precision precision = Precision::kInt8) {
  auto path = std::filesystem::path(::testing::TempDir()) / ("carried_over_" + std::to_string(getpid()) + ".onnx");
  EXPECT_TRUE(zoo::make("resnet50", {}, path.string()));
  model::Binding binding;
  binding.batch = batch;
  auto graph = model::read(path.string(), binding);
  std::filesystem::remove(path);
  EXPECT_TRUE(graph);
  return cost::count(*graph, precision);
}

// The same rounds, scenario SingleStream: 90th percentile of the latency of one image [ms].
constexpr PublishedResult kSingleStream[] = {
    {"Tesla T4", 0.8181, "v3.0"},       {"A100 PCIe 40GB", 0.5186, "v0.7"},       {"A100 SXM4 40GB", 0.5073, "v0.7"},
    {"A100 SXM4 80GB", 0.4648, "v1.0"}, {"Jetson AGX Orin 64GB", 0.6335, "v3.0"}, {"L4", 0.3616, "v3.0"},
};

struct Comparison {
  double measured_ms = 0;
  Range predicted_ms = {};
  double bound_ms = 0;
};

Comparison compare(const cost::Costs& costs, const PublishedResult& published, double measured_ms) {
  auto devices = catalogue::catalogue();
  auto device = catalogue::find_device(*devices, published.device);
  EXPECT_TRUE(device) << published.device;
  auto limits = cost::limits_of(*device, cost::Accumulate::kFp32);
  EXPECT_TRUE(limits) << published.device;
  auto predicted = predicted_ms(layer_bounds(costs, *limits), carried_over(*device, Precision::kInt8));
  EXPECT_GE(measured_ms, predicted.fast) << published.device << " " << published.rounds;
  EXPECT_LE(measured_ms, predicted.slow) << published.device << " " << published.rounds;
  EXPECT_GE(measured_ms, cost::bound(costs, *limits).ms) << published.device << " beat its bound";
  return {measured_ms, predicted, cost::bound(costs, *limits).ms};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The basis of carried_over(): the published figures are within the predicted range on every device, around the likely
// one.
TEST(CarriedOver, CoversEveryPublishedThroughputOfResNet50) {
  constexpr int64_t kBatch = 64;
  cost::Costs costs = resnet50(kBatch);
  std::vector<double> ratios;
  for (const PublishedResult& published : kOffline) {
    Comparison compared = compare(costs, published, 1e3 * kBatch / published.figure);
    ratios.push_back(compared.measured_ms / compared.predicted_ms.likely);
  }
  EXPECT_NEAR(median(ratios), 1, 0.07);
}

TEST(CarriedOver, CoversEveryPublishedLatencyOfResNet50) {
  cost::Costs costs = resnet50(1);
  std::vector<double> ratios;
  for (const PublishedResult& published : kSingleStream) {
    Comparison compared = compare(costs, published, published.figure);
    ratios.push_back(compared.measured_ms / compared.predicted_ms.likely);
  }
  EXPECT_NEAR(median(ratios), 1, 0.2);
}

double trained_ms(int64_t batch, Precision precision) {
  auto device = catalogue::find_device(*catalogue::catalogue(), "GeForce RTX 4090");
  auto limits = cost::limits_of(*device, cost::Accumulate::kFp32);
  EXPECT_TRUE(limits);
  std::vector<cost::Bound> layers = layer_bounds(resnet50(batch, precision), *limits);
  constexpr double kNodes = 176, kPasses = 3;  // as fitted in training_speed.cc
  return predicted_training_ms(layers, kNodes, kPasses, carried_over_to_training(*device, precision)).likely;
}

// Handbook L24.
TEST(CarriedOverToTraining, GivesTheHandbooksFiguresForResNet50OnAnRtx4090) {
  for (auto [batch, images_per_s] : {std::pair(64, 1850), {128, 2140}, {256, 2320}, {512, 2410}})
    EXPECT_NEAR(1e3 * batch / trained_ms(batch, Precision::kFp16) / images_per_s, 1, 0.05) << batch;
}

// Handbook L25: mixed precision takes 38 % off the time.
TEST(CarriedOverToTraining, GivesTheHandbooksGainOfMixedPrecision) {
  EXPECT_NEAR(trained_ms(256, Precision::kFp16) / trained_ms(256, Precision::kFp32), 0.62, 0.03);
}

// Elementwise operators are fused into their predecessor; views move nothing.
TEST(LayerBounds, LeaveOutWhatAnEngineFuses) {
  cost::Costs costs = resnet50(1);
  auto limits = cost::limits_of(*catalogue::find_device(*catalogue::catalogue(), "T4"));
  ASSERT_TRUE(limits);
  EXPECT_EQ(layer_bounds(costs, *limits).size(), 56u);  // 53 convolutions, 1 product, 2 poolings
}

}  // namespace
}  // namespace ridge::predict
