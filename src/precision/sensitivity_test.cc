#include "precision/sensitivity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/fake_clock.h"

namespace ridge::precision {
namespace {

// A model whose layers each add a known error when they are not kept; errors add up as squares.
struct Layers {
  std::vector<std::string> nodes;
  std::map<std::string, double> error;
  double limit = 0.1;
  FakeClock clock;  // an attempt takes a second
  const TimePoint begin = clock.now();
  int attempts = 0;

  explicit Layers(int count) {
    for (int i = 0; i < count; ++i) {
      nodes.push_back("n" + std::to_string(i));
      error[nodes.back()] = 0.001;
    }
  }
  Attempt attempt() {
    return [this](const std::set<std::string>& kept) -> Result<AccuracyVerdict> {
      ++attempts;
      clock.advance(std::chrono::seconds(1));
      double sum = 0;
      for (const auto& [node, lost] : error)
        if (!kept.contains(node)) sum += lost * lost;
      AccuracyVerdict verdict;
      verdict.worst.relative_l2 = std::sqrt(sum);
      verdict.holds = verdict.worst.relative_l2 <= limit;
      return verdict;
    };
  }
  SensitivityOptions within(double seconds) {
    SensitivityOptions options;
    options.seconds = seconds;
    options.clock = &clock;
    return options;
  }
  double spent() const { return to_seconds(clock.now() - begin); }
};

TEST(Sensitivity, EveryLayerIsMeasuredAloneWhenThereIsTime) {
  Layers layers(20);
  layers.error["n7"] = 0.5;
  layers.error["n13"] = 0.2;
  auto table = measure_sensitivity(layers.nodes, layers.attempt(), layers.within(100));
  ASSERT_TRUE(table);
  ASSERT_EQ(table->size(), 20u);
  EXPECT_EQ((*table)[0].node, "n7");
  EXPECT_DOUBLE_EQ((*table)[0].deviation.relative_l2, 0.5);
  EXPECT_EQ((*table)[1].node, "n13");
  EXPECT_EQ((*table)[2].together, 1u);
  EXPECT_EQ(layers.attempts, 20);
}

TEST(Sensitivity, CostlyLayerIsFoundInManyByHalving) {
  Layers layers(1000);
  layers.error["n777"] = 0.5;
  auto table = measure_sensitivity(layers.nodes, layers.attempt(), layers.within(40));
  ASSERT_TRUE(table);
  ASSERT_EQ(table->size(), 1000u);
  EXPECT_LE(layers.spent(), 41);
  EXPECT_EQ((*table)[0].node, "n777");
  EXPECT_EQ((*table)[0].together, 1u);
}

TEST(Sensitivity, LayerThatCannotRunInLowerPrecisionComesFirst) {
  Layers layers(4);
  const Attempt works = layers.attempt();
  const Attempt attempt = [&](const std::set<std::string>& kept) -> Result<AccuracyVerdict> {
    if (!kept.contains("n2")) return Error{Code::kUnsupported, "no such kernel"};
    return works(kept);
  };
  auto table = measure_sensitivity(layers.nodes, attempt, layers.within(100));
  ASSERT_TRUE(table);
  EXPECT_EQ((*table)[0].node, "n2");
  EXPECT_TRUE(std::isinf((*table)[0].deviation.relative_l2));
}

TEST(Sensitivity, ShortestKeepListIsFound) {
  Layers layers(50);
  for (const char* node : {"n3", "n9", "n21", "n30", "n44"}) layers.error[node] = 0.2;
  auto table = measure_sensitivity(layers.nodes, layers.attempt(), layers.within(1000));
  ASSERT_TRUE(table);
  layers.attempts = 0;
  auto list = find_keep_list(*table, layers.attempt(), layers.within(10000));
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->verdict.holds);
  EXPECT_EQ(list->kept, (std::set<std::string>{"n3", "n9", "n21", "n30", "n44"}));
  EXPECT_EQ(list->attempts, 6);  // 1, 2, 4, 8, then 6 and 5
}

TEST(Sensitivity, NoKeepListIsAVerdictThatDoesNotHold) {
  Layers layers(4);
  for (auto& [node, lost] : layers.error) lost = 1;
  auto table = measure_sensitivity(layers.nodes, layers.attempt(), layers.within(100));
  ASSERT_TRUE(table);
  auto list = find_keep_list(*table, layers.attempt(), layers.within(1000));
  ASSERT_TRUE(list);
  EXPECT_FALSE(list->verdict.holds);
}

TEST(Sensitivity, TimeEndsTheSearchWithAListThatHolds) {
  Layers layers(200);
  for (int i = 0; i < 60; ++i) layers.error["n" + std::to_string(i)] = 0.2;
  auto table = measure_sensitivity(layers.nodes, layers.attempt(), layers.within(1000));
  ASSERT_TRUE(table);
  auto list = find_keep_list(*table, layers.attempt(), layers.within(layers.spent() - 200 + 8));
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->verdict.holds);
  EXPECT_EQ(list->kept.size(), 64u);
}

TEST(Sensitivity, InterruptionEndsIt) {
  Layers layers(20);
  SensitivityOptions options = layers.within(100);
  options.interrupted = [&] { return layers.attempts > 3; };
  auto table = measure_sensitivity(layers.nodes, layers.attempt(), options);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace ridge::precision
