#include "predict/buffer_plan.h"

#include <gtest/gtest.h>

namespace ridge::predict {
namespace {

EngineTensor of(int64_t bytes, int shape = -1) { return {bytes, shape, false, false}; }
EngineTensor output(int64_t bytes) { return {bytes, -1, false, true}; }
EngineTensor input(int64_t bytes) { return {bytes, -1, true, false}; }

EngineStep step(std::vector<int> reads, std::vector<int> writes) {
  EngineStep made;
  made.reads = std::move(reads);
  made.writes = std::move(writes);
  return made;
}

TEST(BufferPlan, AChainNeedsTwoNeighboursAtATime) {
  EngineGraph graph;
  graph.tensors = {input(1024), of(2048), of(4096), output(512)};
  graph.steps = {step({0}, {1}), step({1}, {2}), step({2}, {3})};
  BufferPlan plan = plan_buffers(graph);
  EXPECT_EQ(plan.buffers.size(), 3U);
  EXPECT_EQ(plan.live_bytes, 2048 + 4096);
  EXPECT_EQ(pattern_bytes(plan, graph.steps.size()), 2048 + 4096);  // without the output
}

TEST(BufferPlan, AnElementwiseOutputOverwritesItsInputUnlessOthersNeedIt) {
  EngineGraph graph;
  graph.tensors = {input(1024), of(4096), of(4096), output(512)};
  graph.steps = {step({0}, {1}), step({1}, {2}), step({2}, {3})};
  graph.steps[1].may_overwrite = {1};
  EXPECT_EQ(plan_buffers(graph).buffers.size(), 2U);
  graph.steps[2].reads = {2, 1};
  EXPECT_EQ(plan_buffers(graph).buffers.size(), 3U);
}

TEST(BufferPlan, AnInputOfTheModelIsNeverOverwritten) {
  EngineGraph graph;
  graph.tensors = {input(4096), of(4096), output(512)};
  graph.steps = {step({0}, {1}), step({1}, {2})};
  graph.steps[0].may_overwrite = {0};
  EXPECT_EQ(plan_buffers(graph).buffers.size(), 2U);
}

TEST(BufferPlan, AViewKeepsWhatItShowsAlive) {
  EngineGraph graph;
  graph.tensors = {input(1024), of(4096), of(4096), of(8192), output(512)};
  graph.steps = {step({0}, {1}), step({1}, {2}), step({0}, {3}), step({2, 3}, {4})};
  graph.steps[1].view = true;
  BufferPlan plan = plan_buffers(graph);
  EXPECT_EQ(plan.buffers.size(), 3U);
  EXPECT_EQ(plan.buffers[0].last, 3U);
}

TEST(BufferPlan, ADeadBufferOfTheSameShapeServesAgain) {
  EngineGraph graph;
  graph.tensors = {input(1024), of(4096, 7), of(2048, 8), of(4096, 7), output(512)};
  graph.steps = {step({0}, {1}), step({1}, {2}), step({2}, {3}), step({3}, {4})};
  BufferPlan plan = plan_buffers(graph);
  EXPECT_EQ(plan.buffers.size(), 3U);
  EXPECT_EQ(plan.buffers[0].last, 3U);  // and is held in between
  graph.tensors[3].shape = 9;           // other shape, same size
  EXPECT_EQ(plan_buffers(graph).buffers.size(), 4U);
}

TEST(BufferPlan, SizesAreRoundedUp) {
  EngineGraph graph;
  graph.tensors = {input(1), of(257), output(1)};
  graph.steps = {step({0}, {1}), step({1}, {2})};
  EXPECT_EQ(plan_buffers(graph).buffers[0].bytes, 512);
}

}  // namespace
}  // namespace ridge::predict
