#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/plan.h"

namespace ridge::plan {
namespace {

Plan unusual() {
  Plan plan;
  plan.model = "m.onnx";
  plan.engine = "fake";
  plan.engine_library = "/x/libonnxruntime.so";
  plan.precision = Precision::kBf16;
  plan.batch = 8;
  plan.shapes = {{"x", {8, 3, 224, 224}}, {"scalar", {}}};
  plan.instances = 2;
  plan.threads = 3;
  plan.inter_op_threads = 4;
  plan.spin = Spin::kOff;
  plan.memory_arena = false;
  plan.memory_pattern = false;
  plan.graph_level = GraphLevel::kExtended;
  plan.profile = true;
  plan.optimised_model = "o.onnx";
  plan.options = {{"session.key", "1"}};
  plan.bound_ms = 1.5;
  plan.reasons = {"because"};
  return plan;
}

TEST(PlanJson, ComesBackAsItWas) {
  Result<Plan> back = from_json<Plan>(to_json(unusual()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(dump_json(to_json(*back)), dump_json(to_json(unusual())));
  EXPECT_EQ(back->shapes.at("x"), (Shape{8, 3, 224, 224}));
  EXPECT_EQ(back->spin, Spin::kOff);
  EXPECT_EQ(back->graph_level, GraphLevel::kExtended);
}

TEST(PlanJson, AbsentMembersKeepTheirDefaults) {
  Result<Plan> plan = from_json<Plan>(Json{{"model", "m.onnx"}});
  ASSERT_TRUE(plan);
  Plan expected;
  expected.model = "m.onnx";
  EXPECT_EQ(dump_json(to_json(*plan)), dump_json(to_json(expected)));
}

TEST(PlanJson, SaysWhatIsWrong) {
  auto complaint = [](Json change) {
    Json json = to_json(unusual());
    json.update(change);
    Result<Plan> plan = from_json<Plan>(json);
    return plan ? std::string("accepted") : plan.error().message;
  };
  EXPECT_NE(complaint({{"batch", 0}}).find("'batch' is 0"), std::string::npos);
  EXPECT_NE(complaint({{"threads", -1}}).find("'threads'"), std::string::npos);
  EXPECT_NE(complaint({{"instances", int64_t{1} << 40}}).find("'instances'"), std::string::npos);
  EXPECT_NE(complaint({{"spin", "wild"}}).find("known: default, on, off"), std::string::npos);
  EXPECT_NE(complaint({{"precision", "fp12"}}).find("fp12"), std::string::npos);
  EXPECT_NE(complaint({{"shapes", {{"x", {-1}}}}}).find("'shapes.x[0]'"), std::string::npos);
  EXPECT_NE(complaint({{"shapes", 3}}).find("'shapes'"), std::string::npos);
  EXPECT_NE(complaint({{"options", {{"k", 1}}}}).find("'options.k'"), std::string::npos);
  EXPECT_NE(complaint({{"reasons", {1}}}).find("'reasons[0]'"), std::string::npos);
  EXPECT_NE(complaint({{"model", 7}}).find("'model'"), std::string::npos);
  EXPECT_FALSE(from_json<Plan>(Json::array()));
}

}  // namespace
}  // namespace ridge::plan
