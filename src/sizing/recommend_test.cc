#include "sizing/recommend.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge::sizing {
namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

// Round figures: `tflops` of FP32, `gbs` of bandwidth, 16 GiB, 100 W.
catalogue::CatalogueDevice device(const std::string& name, double tflops, double gbs) {
  catalogue::CatalogueDevice device;
  device.vendor = "NVIDIA";
  device.name = name;
  device.peaks = {{Precision::kFp32, tflops * 1e12, Origin::kDatasheet}};
  device.bytes_per_s = gbs * 1e9;
  device.memory_bytes = 16 * kGibibyte;
  device.power_w = 100;
  return device;
}

catalogue::CloudPrice price(const std::string& name, double usd_per_gpu_hour) {
  catalogue::CloudPrice price;
  price.device = name;
  price.usd_per_hour = price.usd_per_gpu_hour = usd_per_gpu_hour;
  price.date = "2026";
  return price;
}

// One multiplication of 1 TFLOP over 1 GB, 250 M parameters; 4.1 GB to train.
Workload workload() {
  cost::NodeCost node;
  node.name = "product";
  node.op = "MatMul";
  node.flops = node.needed_flops = 1e12;
  node.bytes_read = 1e9;
  node.bytes_written = 1e8;
  cost::Costs costs;
  costs.nodes = {node};
  costs.flops = 1e12;
  costs.parameters = 250'000'000;
  costs.weight_bytes = 1e9;
  costs.compulsory_read = 1e9;
  costs.peak_activation_bytes = 1e8;
  return {.costs = costs, .inference_bytes = 1.1e9, .training_bytes = 4.1e9, .notes = {}};
}

const std::vector<catalogue::CatalogueDevice> kDevices = {device("slow", 1, 1000), device("fast", 100, 1000),
                                                          device("middle", 10, 1000)};

std::vector<std::string> names(const std::vector<Candidate>& candidates) {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates) names.push_back(candidate.device.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(Recommend, RanksByPredictedPerformance) {
  Recommendation result = recommend(kDevices, {}, workload(), {});
  EXPECT_EQ(names(result.ranked), (Names{"fast", "middle", "slow"}));
  const Candidate& middle = result.ranked[1];
  // 1 TFLOP at 10 TFLOP/s is 100 ms; at 60 % of the roofline 166.7 ms.
  ASSERT_TRUE(middle.bound_ms);
  EXPECT_NEAR(*middle.bound_ms, 100, 1e-9);
  EXPECT_NEAR(middle.run_ms.likely, 100 / 0.6, 1e-9);
  EXPECT_LT(middle.run_ms.fast, middle.run_ms.likely);
  EXPECT_LT(middle.run_ms.likely, middle.run_ms.slow);
  EXPECT_GE(middle.run_ms.fast, *middle.bound_ms);
  EXPECT_DOUBLE_EQ(middle.held.compute, 1);
  EXPECT_NE(result.ranked.front().reason.find("fastest"), std::string::npos) << result.ranked.front().reason;
}

TEST(Recommend, RanksPerWattAndPerDollarWhenAsked) {
  std::vector<catalogue::CatalogueDevice> devices = kDevices;
  devices[1].power_w = 20000;  // fast: 200 times the power for 10 times the speed of "middle"
  std::vector<catalogue::CloudPrice> prices = {price("slow", 0.01), price("fast", 10)};
  Goal goal;
  goal.rank_by = RankBy::kWatt;
  EXPECT_EQ(names(recommend(devices, prices, workload(), goal).ranked), (Names{"middle", "slow", "fast"}));
  goal.rank_by = RankBy::kDollar;  // slow: a hundredth of the speed for a thousandth; "middle" has no price
  EXPECT_EQ(names(recommend(devices, prices, workload(), goal).ranked), (Names{"slow", "fast", "middle"}));
}

TEST(Recommend, RefusesWhatDoesNotFitAndSaysByHowMuch) {
  std::vector<catalogue::CatalogueDevice> devices = kDevices;
  devices[1].memory_bytes = 1 * kGibibyte;
  Recommendation result = recommend(devices, {}, workload(), {});
  EXPECT_EQ(names(result.ranked), (Names{"middle", "slow"}));
  ASSERT_EQ(result.refused.size(), 1u);
  EXPECT_EQ(result.refused[0].rejection, "memory");
  EXPECT_NEAR(result.refused[0].needed_bytes / kGibibyte, 1.52, 0.005);
  EXPECT_EQ(result.refused[0].available_bytes, kGibibyte);
}

TEST(Recommend, CountsAllPassesAndTheOptimiserForTraining) {
  Goal training{.use = Use::kTraining};
  Recommendation result = recommend(kDevices, {}, workload(), training);
  // "middle": three passes of 100 ms at 54 %, and 17 µs to start the node; 28 bytes per parameter at 1000 GB/s are 7
  // ms.
  EXPECT_NEAR(result.ranked[1].run_ms.likely, 3 * (100 / 0.54 + 0.017) + 7, 1e-9);
  EXPECT_FALSE(result.ranked[1].bound_ms);
  std::vector<catalogue::CatalogueDevice> small = {kDevices[0]};
  small[0].memory_bytes = 4 * kGibibyte;
  EXPECT_EQ(recommend(small, {}, workload(), {}).ranked.size(), 1u);
  EXPECT_EQ(recommend(small, {}, workload(), training).ranked.size(), 0u);
  EXPECT_EQ(recommend(small, {}, workload(), {.use = Use::kMixed}).ranked.size(), 0u) << "mixed must train, too";
}

TEST(Recommend, HoldsTheSlowEndAgainstTheLatencyGoal) {
  Goal goal{.p99_ms = 190};  // "middle": likely 167 ms, slow end 208
  Recommendation result = recommend(kDevices, {}, workload(), goal);
  EXPECT_EQ(names(result.ranked), (Names{"fast"}));
  EXPECT_EQ(result.refused[1].device.name, "middle");
  EXPECT_EQ(result.refused[1].rejection, "too-slow");
  EXPECT_NEAR(*result.refused[1].p99_ms, 208, 0.5);
}

TEST(Recommend, CountsTheDevicesThatALoadNeeds) {
  Goal goal{.rows_per_s = 100};  // "fast" does 48 per s at its slow end; 80 % of that are 38.4
  Recommendation result = recommend({&kDevices[1], 1}, {}, workload(), goal);
  ASSERT_EQ(result.ranked.size(), 1u);
  EXPECT_EQ(result.ranked[0].devices, 3);
  goal.p99_ms = 21.5;  // 0.7 ms more than the service alone: almost no waiting allowed
  Recommendation quick = recommend({&kDevices[1], 1}, {}, workload(), goal);
  ASSERT_EQ(quick.ranked.size(), 1u);
  EXPECT_GT(quick.ranked[0].devices, 3);
  EXPECT_LE(*quick.ranked[0].p99_ms, 21.5);
}

TEST(Recommend, HoldsAllDevicesOfALoadAgainstTheBudget) {
  std::vector<catalogue::CloudPrice> prices = {price("fast", 1.0), price("middle", 0.2)};
  Goal goal{.rows_per_s = 100, .usd_per_hour = 4};  // 3 of "fast": 3.00; 27 of "middle": 5.40
  Recommendation result = recommend(kDevices, prices, workload(), goal);
  EXPECT_EQ(names(result.ranked), (Names{"fast"}));
  EXPECT_DOUBLE_EQ(*result.ranked[0].usd_per_hour, 3.0);
  EXPECT_EQ(result.refused[0].rejection, "no-price");
  EXPECT_EQ(result.refused[1].rejection, "too-dear");
  EXPECT_EQ(result.refused[1].devices, 27);
  EXPECT_NEAR(*result.refused[1].usd_per_hour, 5.4, 1e-9);
}

TEST(Recommend, DoesNotJudgeWithoutASource) {
  std::vector<catalogue::CatalogueDevice> devices = kDevices;
  devices[0].bytes_per_s.reset();
  devices[1].memory_bytes.reset();
  devices[2].peaks.clear();
  Recommendation result = recommend(devices, {}, workload(), {});
  EXPECT_TRUE(result.ranked.empty());
  for (const Candidate& candidate : result.refused) EXPECT_EQ(candidate.rejection, "no-source");
}

TEST(Recommend, TellsEqualOnesApartAtTheLeastLargerBatch) {
  std::vector<int64_t> asked;
  const auto at = [&](int64_t batch) -> Result<Recommendation> {
    asked.push_back(batch);
    return Recommendation{.goal = {.batch = batch}, .ranked = {Candidate{}}, .tie = batch < 8 ? "equal" : ""};
  };
  EXPECT_EQ(told_apart({.tie = "equal"}, at)->goal.batch, 8);
  EXPECT_EQ(asked, (std::vector<int64_t>{2, 4, 8}));
  EXPECT_FALSE(told_apart({}, at)) << "nothing to tell apart";
  EXPECT_FALSE(
      told_apart({.tie = "equal"}, [](int64_t) { return Recommendation{.ranked = {Candidate{}}, .tie = "equal"}; }));
  EXPECT_FALSE(
      told_apart({.tie = "equal"}, [](int64_t) -> Result<Recommendation> { return invalid("one batch only"); }));
}

TEST(Recommend, WritesWhatTheTableShows) {
  Json json = json_of(recommend(kDevices, {}, workload(), {}));
  EXPECT_EQ(json["ranked"].size(), 3u);
  EXPECT_EQ(json["ranked"][0]["device"], "fast");
  EXPECT_TRUE(json["ranked"][0]["usd_per_hour"].is_null());
  EXPECT_FALSE(json["assumptions"].empty());
}

}  // namespace
}  // namespace ridge::sizing
