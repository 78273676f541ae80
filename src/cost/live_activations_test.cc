#include "cost/live_activations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/costs.h"
#include "cost/test_graph.h"

namespace ridge::cost {
namespace {

using ::testing::ElementsAre;

TEST(LiveActivations, GrowWithWhatIsNeededLaterAndShrinkAfterTheLastUse) {
  // x → a → b, and a is needed again by the sum: 4 floats each.
  testing::GraphBuilder builder;
  int x = builder.input("x", {4});
  int a = builder.node("Relu", {x}, {4});
  int b = builder.node("Relu", {a}, {4});
  int sum = builder.node("Add", {a, b}, {4});
  model::Graph graph = builder.finish({sum});
  EXPECT_THAT(live_activations(graph, Precision::kFp32), ElementsAre(32, 32, 48));
  EXPECT_DOUBLE_EQ(count(graph).peak_activation_bytes, 48);
  EXPECT_THAT(live_activations(graph, Precision::kFp16), ElementsAre(16, 16, 24));
}

}  // namespace
}  // namespace ridge::cost
