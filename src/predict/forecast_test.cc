#include "predict/forecast.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cost/test_graph.h"

namespace ridge::predict {
namespace {

cost::DeviceLimits one_level() {
  cost::DeviceLimits limits;
  limits.flops_per_s = {{Precision::kFp32, 1e9}};
  limits.levels = {{"DRAM", 1e9, 1e18}};
  return limits;
}

// A product beside `unknown` operators without a rule.
Json forecast_json(int unknown) {
  cost::testing::GraphBuilder g;
  int x = g.node("MatMul", {g.input("x", {4, 4}), g.weight("w", {4, 4})}, {4, 4});
  for (int i = 0; i < unknown; ++i) x = g.node("Frobnicate", {x}, {4, 4});
  return json_of(forecast("m", 1, Precision::kFp32, cost::count(g.finish({x})), one_level()));
}

TEST(Forecast, TheBoundIsNotKnownWhereMostOfTheArithmeticHasNoRule) {
  EXPECT_GT(forecast_json(0)["bound_ms"], 0);
  const Json unknown = forecast_json(1);
  EXPECT_TRUE(unknown["bound_ms"].is_null());
  EXPECT_EQ(unknown["limiter"], "unknown");
}

}  // namespace
}  // namespace ridge::predict
