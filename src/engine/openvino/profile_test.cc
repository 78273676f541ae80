#include "engine/openvino/profile.h"

#include <gtest/gtest.h>

namespace ridge::engine::openvino {
namespace {

ProfiledLayer layer(const std::string& name, bool ran) {
  ProfiledLayer layer;
  layer.node.name = name;
  layer.ran = ran;
  return layer;
}

// Calls of 38, 8, 5 and 5 µs: the engine reports 38, 23, 17 and 14.
TEST(Profile, TakesTheMeanOfTheCountedRunsOutOfTheAverageOverAll) {
  const std::vector<std::vector<int64_t>> averages = {{38, 0}, {23, 0}, {17, 0}, {14, 0}};
  Result<std::vector<NodeTime>> nodes = node_times({layer("conv", true), layer("relu", false)}, averages, 1);
  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes->size(), 1u) << "what was fused has no time of its own";
  EXPECT_EQ((*nodes)[0].name, "conv");
  EXPECT_NEAR((*nodes)[0].mean_us, (4 * 14 - 38) / 3.0 + 0.5, 1e-12);
  EXPECT_NEAR((*nodes)[0].mean_us, (8 + 5 + 5) / 3.0, 5.0 / 3) << "within the error that the cutting allows";
  EXPECT_EQ((*nodes)[0].runs, 3);
}

TEST(Profile, NamesTheModelsOwnNodes) {
  EXPECT_EQ(source_nodes("conv/WithoutBiases,relu"), (std::vector<std::string>{"conv", "relu"}));
  EXPECT_TRUE(source_nodes("").empty());
}

TEST(Profile, WithoutARunLeftIsAnError) {
  EXPECT_FALSE(node_times({layer("conv", true)}, {{5}, {5}}, 2).ok());
  EXPECT_TRUE(node_times({layer("conv", true)}, {{5}, {5}}, 0).ok());
}

}  // namespace
}  // namespace ridge::engine::openvino
