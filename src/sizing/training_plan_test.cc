#include "sizing/training_plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cost/test_graph.h"

namespace ridge::sizing {
namespace {

using cost::testing::GraphBuilder;

// Two linear layers of 64 with an activation between them; 8192 parameters.
model::Graph layers(int64_t batch) {
  GraphBuilder g;
  int x = g.node("Tanh", {g.node("MatMul", {g.input("x", {batch, 64}), g.weight("a", {64, 64})}, {batch, 64})},
                 {batch, 64});
  return g.finish({g.node("MatMul", {x, g.weight("b", {64, 64})}, {batch, 64})});
}

class TrainingPlanTest : public ::testing::Test {
 protected:
  TrainingQuestion question() {
    TrainingQuestion q;
    q.one = &one_, q.two = &two_;
    q.device.memory_bytes = 1e6;
    q.device.flops_per_s = 1e12;
    q.link = *link_from_name("pcie4");
    q.assumptions = assumed_for(TrainingPrecision::kFp32);
    return q;
  }
  model::Graph one_ = layers(1), two_ = layers(2);
};

TEST_F(TrainingPlanTest, FindsTheLargestBatchAndDrawsTheCurvePastIt) {
  TrainingPlan plan = plan_training(question());
  ASSERT_TRUE(plan.max_batch);
  EXPECT_TRUE(plan.point.fits);
  EXPECT_GT(*plan.max_batch, 1);
  EXPECT_TRUE(plan.curve.front().fits);
  EXPECT_FALSE(plan.curve.back().fits);
  for (size_t i = 1; i < plan.curve.size(); ++i) {
    EXPECT_EQ(plan.curve[i].batch, 2 * plan.curve[i - 1].batch);
    EXPECT_GT(plan.curve[i].memory.total(), plan.curve[i - 1].memory.total());
    EXPECT_GE(plan.curve[i].speed->rows_per_s, plan.curve[i - 1].speed->rows_per_s);
  }
}

TEST_F(TrainingPlanTest, WhatTheDriverReservesIsNotForTheModel) {
  TrainingQuestion q = question();
  int64_t all = *plan_training(q).max_batch;
  q.device.reserved_bytes = 5e5;
  EXPECT_LT(*plan_training(q).max_batch, all);
}

TEST_F(TrainingPlanTest, SaysThatItDoesNotFit) {
  TrainingQuestion q = question();
  q.device.memory_bytes = 16.0 * 8192;  // the states alone
  TrainingPlan plan = plan_training(q);
  EXPECT_FALSE(plan.point.fits);
  EXPECT_EQ(plan.max_batch, 0);
}

TEST_F(TrainingPlanTest, CheckpointingSaysWhatItSavesBesideTheHandbook) {
  TrainingQuestion q = question();
  q.setup.checkpoint = true;
  TrainingPlan plan = plan_training(q);
  ASSERT_EQ(plan.notes.size(), 1U);
  EXPECT_NE(plan.notes[0].find("25 % of the rate"), std::string::npos) << plan.notes[0];
}

TEST_F(TrainingPlanTest, AFixedBatchHasNoCurveAndAnUnknownPeakNoSpeed) {
  TrainingQuestion q = question();
  q.two = nullptr;
  q.device.flops_per_s = 0;
  TrainingPlan plan = plan_training(q);
  EXPECT_TRUE(plan.curve.empty());
  EXPECT_FALSE(plan.max_batch);
  EXPECT_FALSE(plan.point.speed);
}

TEST_F(TrainingPlanTest, JsonHasThePartsAndTheCurve) {
  Json json = json_of(plan_training(question()));
  EXPECT_EQ(json["memory_bytes"]["parameters"], 4 * 8192);
  EXPECT_EQ(json["memory_bytes"]["optimiser"], 8 * 8192);
  EXPECT_TRUE(json["curve"].is_array());
}

}  // namespace
}  // namespace ridge::sizing
