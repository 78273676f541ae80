// Schedulers against queueing theory and against steps worked by hand.
#include "llm/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/config.h"

namespace ridge::llm {
namespace {

constexpr double kFrontMs = 1;  // from sending to the scheduler

// A model without costs but its engine's: every step takes `step_us` per kernel of 1 layer, whatever is in it.
Deployment constant_steps(EngineKind engine, double step_ms) {
  Deployment d;
  d.model = checkpoint::config_from_flags("layers=1,heads=1,hidden=64,intermediate=64,vocabulary=64")->model;
  d.gpu.flops_per_s = {{Precision::kBf16, 1e30}};
  d.gpu.bytes_per_s = 1e30;
  d.gpu.multiprocessors = 100;
  d.gpu.laws[{"gemm", "bfloat16"}] = {};
  d.engine = engine;
  d.costs.kernel_us = 1;
  double launches = 1e3 * kernels_of(d, {1, 1, {}, 0}).back().time.seconds * 1e3;
  d.costs.kernel_us = 1e3 * step_ms / launches;
  return d;
}

Simulation run(const Deployment& d, const Workload& w, Scheduler s) {
  const StepTable steps(d, s.chunk_tokens + 1024);
  s.engine = d.engine;
  Result<Simulation> result = simulate([&](const Step& step) { return steps.seconds(step); }, d.costs, s, w);
  if (result) return *result;
  ADD_FAILURE() << result.error().message;
  return {};
}

TEST(Simulation, OneRequestAtATimeTakesItsSteps) {
  Workload w;
  w.prompt_min = w.prompt_max = 1000;
  w.output_min = w.output_max = 11;
  w.concurrency = 1;
  w.requests = 5;
  for (const EngineKind engine : {EngineKind::kVllm, EngineKind::kTensorRtLlm, EngineKind::kSglang}) {
    const Simulation r = run(constant_steps(engine, 10), w, {});
    EXPECT_NEAR(r.ttft_ms.mean, kFrontMs + 10, 1e-3);  // the prompt in one step, then ten decode steps
    EXPECT_NEAR(r.tpot_ms.mean, 10, 1e-3);
  }
  Scheduler chunks;
  chunks.chunk_tokens = 250;
  EXPECT_NEAR(run(constant_steps(EngineKind::kVllm, 10), w, chunks).ttft_ms.mean, kFrontMs + 40, 1e-3);
  w.prefix_hit = 0.5;
  EXPECT_NEAR(run(constant_steps(EngineKind::kVllm, 10), w, chunks).ttft_ms.mean, kFrontMs + 20, 1e-3);
}

TEST(Simulation, VllmPutsPromptsBesideDecodingAndSglangBeforeIt) {
  // Two requests: the second's prompt of four chunks comes while the first decodes.
  Workload w;
  w.trace = {{0, 100, 9}, {0.025, 400, 2}};
  Scheduler chunks;
  chunks.chunk_tokens = 101;
  const Simulation beside = run(constant_steps(EngineKind::kVllm, 10), w, chunks);
  EXPECT_NEAR(beside.tpot_ms.p99, 10, 1e-3);  // a token every step
  const Simulation before = run(constant_steps(EngineKind::kSglang, 10), w, chunks);
  // Four steps of the prompt stop the first request: 8 tokens in 12 steps.
  EXPECT_NEAR(before.tpot_ms.p99, 15, 1e-3);
}

TEST(Simulation, ARequestWaitsForTheStepThatIsComposedAhead) {
  // The second request reaches the scheduler in a step that ends at 31 ms; the next one is composed already.
  Workload w;
  w.trace = {{.sent_s = 0, .prompt = 100, .output = 100}, {.sent_s = 0.025, .prompt = 100, .output = 2}};
  Deployment d = constant_steps(EngineKind::kVllm, 10);
  EXPECT_NEAR(run(d, w, {}).ttft_ms.p99, 31 + 10 - 25, 1e-3);
  d.costs.steps_ahead = 1;
  const Simulation r = run(d, w, {});
  EXPECT_NEAR(r.ttft_ms.p99, 41 + 10 - 25, 1e-3);
  EXPECT_NEAR(r.ttft_ms.p50, kFrontMs + 10, 1e-3);  // an idle engine composes at once
  EXPECT_NEAR(r.tpot_ms.mean, 10, 1e-3);
}

TEST(Simulation, TheClockFallsWherePromptsFollowOneAnother) {
  std::vector<double> sustained;
  const auto seconds = [&](const Step& step) {
    if (!step.chunks.empty()) sustained.push_back(step.sustained);
    return 0.01;
  };
  Workload w;
  w.prompt_min = w.prompt_max = 100;
  w.output_min = w.output_max = 1;
  w.concurrency = 1;
  w.requests = 500;
  ASSERT_TRUE(simulate(seconds, {}, {}, w));
  EXPECT_EQ(sustained.front(), 0);
  EXPECT_GT(sustained.back(), 0.9);
  w.output_min = w.output_max = 10;
  sustained.clear();
  ASSERT_TRUE(simulate(seconds, {}, {}, w));
  EXPECT_NEAR(sustained.back(), 0.1, 0.02);  // a step of ten computes a prompt
}

TEST(Simulation, AQueueOfSingleRequestsIsMD1) {
  // One sequence at a time, one token each: service of one step, 10 ms; at 50 requests/s half of the time. Mean wait of
  // M/D/1: ρ/(2(1 − ρ)) · service = 5 ms (Gross and others, Fundamentals of queueing theory, section 5.1).
  Workload w;
  w.prompt_min = w.prompt_max = 10;
  w.output_min = w.output_max = 1;
  w.requests_per_s = 50;
  w.requests = 40000;
  Scheduler one;
  one.most_sequences = 1;
  const Simulation r = run(constant_steps(EngineKind::kVllm, 10), w, one);
  EXPECT_NEAR(r.ttft_ms.mean, kFrontMs + 10 + 5, 0.3);
  EXPECT_NEAR(r.requests_per_s, 50, 1);
}

TEST(Simulation, TheFirstWaveQueuesForTheTokensOfAStep) {
  // 8 prompts of 1000 tokens, 2000 tokens a step. They are sent at once and reach the scheduler 1 ms apart: the first
  // one has a step for itself, the others go in pairs and the last one is alone, after 11, 21, 21, 31, 31, 41, 41 and
  // 51 ms.
  Workload w;
  w.prompt_min = w.prompt_max = 1000;
  w.output_min = w.output_max = 100;
  w.concurrency = 8;
  w.requests = 8;
  Scheduler chunks;
  chunks.chunk_tokens = 2000;
  EXPECT_NEAR(run(constant_steps(EngineKind::kSglang, 10), w, chunks).ttft_ms.mean, 31, 1e-3);
}

TEST(Simulation, ATokeniserTakesOnePromptAfterAnotherAndARouterMany) {
  // Two prompts of 1000 tokens at 20 us each: 21 and 42 ms before the scheduler; steps of 1 ms.
  Workload w;
  w.trace = {{0, 1000, 1}, {0, 1000, 1}};
  Deployment d = constant_steps(EngineKind::kVllm, 1);
  d.costs.token_us = 20;
  EXPECT_NEAR(run(d, w, {}).ttft_ms.mean, (22 + 43) / 2.0, 1e-3);
  w.routed = true;
  d.costs.router_ms = 5;
  EXPECT_NEAR(run(d, w, {}).ttft_ms.mean, 22 + 5, 1e-3);
}

TEST(Simulation, TensorRtLlmHoldsPromptsUntilAStepIsFilledOrSoManyStepsHavePassed) {
  // The first request decodes from 11 ms on; the second one reaches the scheduler at 26 ms, in the step that ends at 31
  // ms.
  Workload w;
  w.trace = {{0, 100, 100}, {0.025, 100, 2}};
  Scheduler waits;
  waits.chunk_tokens = 1000;
  waits.batch_wait_steps = 4;
  waits.batch_wait_share = 0.5;
  const Deployment d = constant_steps(EngineKind::kTensorRtLlm, 10);
  EXPECT_NEAR(run(d, w, waits).ttft_ms.p99, 31 + 4 * 10 + 10 - 25, 1e-3);
  // 101 tokens fill a tenth of the step.
  waits.batch_wait_share = 0.1;
  EXPECT_NEAR(run(d, w, waits).ttft_ms.p99, 31 + 10 - 25, 1e-3);
  // Nothing is decoded: no wait.
  w.trace = {{0, 100, 2}};
  waits.batch_wait_share = 0.5;
  EXPECT_NEAR(run(d, w, waits).ttft_ms.mean, 11, 1e-3);
}

TEST(Simulation, AttentionReplicasStepTogether) {
  // Four prompts that fill a step of a replica each, one by one at the scheduler; two replicas take two at a time.
  Workload w;
  w.trace = {{0, 1000, 1}, {0, 1000, 1}, {0, 1000, 1}, {0, 1000, 1}};
  Scheduler two;
  two.chunk_tokens = 1000;
  EXPECT_NEAR(run(constant_steps(EngineKind::kVllm, 10), w, two).ttft_ms.mean, (11 + 21 + 31 + 41) / 4.0, 1e-3);
  two.replicas = 2;
  EXPECT_NEAR(run(constant_steps(EngineKind::kVllm, 10), w, two).ttft_ms.mean, (11 + 21 + 21 + 31) / 4.0, 1e-3);
  // The cache is as large for each.
  two.cache_tokens = 1500;
  EXPECT_NEAR(run(constant_steps(EngineKind::kTensorRtLlm, 10), w, two).ttft_ms.p99, 31, 1e-3);
  // A replica decodes 4 of 8 sequences.
  Workload closed;
  closed.prompt_min = closed.prompt_max = 10;
  closed.output_min = closed.output_max = 500;
  closed.concurrency = closed.requests = 8;
  Scheduler half;
  half.replicas = 2;
  EXPECT_NEAR(run(constant_steps(EngineKind::kVllm, 10), closed, half).mean_decoding, 4, 0.3);
}

TEST(Simulation, TensorRtLlmHoldsPromptsUntilEachAttentionReplicaHasOne) {
  // Two sequences decode from 21 ms on; the third prompt comes in the step that ends at 51 ms.
  Workload w;
  w.trace = {{0, 100, 100}, {0, 100, 100}, {0.045, 100, 2}};
  Scheduler waits;
  waits.replicas = 2;
  waits.batch_wait_steps = 4;
  const Deployment d = constant_steps(EngineKind::kTensorRtLlm, 10);
  EXPECT_NEAR(run(d, w, waits).ttft_ms.p99, 51 + 4 * 10 + 10 - 45, 1e-3);
  w.trace.push_back({0.045, 100, 2});
  EXPECT_NEAR(run(d, w, waits).ttft_ms.mean, (11 + 21 + 16 + 16) / 4.0, 1e-3);
}

TEST(Simulation, VllmPreemptsWhereTheCacheIsFullAndOthersAdmitLess) {
  Workload w;
  w.prompt_min = w.prompt_max = 100;
  w.output_min = w.output_max = 101;
  w.concurrency = 4;
  w.requests = 8;
  Scheduler small;
  small.cache_tokens = 620;  // six prompts, three whole sequences
  EXPECT_GT(run(constant_steps(EngineKind::kVllm, 10), w, small).preemptions, 0);
  const Simulation reserved = run(constant_steps(EngineKind::kTensorRtLlm, 10), w, small);
  EXPECT_EQ(reserved.preemptions, 0);
  EXPECT_GT(reserved.ttft_ms.p99, 500);  // the fourth waits for one to end
  small.cache_tokens = 0;
  EXPECT_LT(run(constant_steps(EngineKind::kTensorRtLlm, 10), w, small).ttft_ms.p99, 500);
  small.cache_tokens = 150;
  const Deployment d = constant_steps(EngineKind::kSglang, 10);
  small.engine = d.engine;
  const auto never = simulate([](const Step&) { return 0.01; }, d.costs, small, w);
  ASSERT_FALSE(never);
  EXPECT_THAT(never.error().message, ::testing::HasSubstr("150"));
}

TEST(Simulation, SpeculativeTokensShortenTheTimePerToken) {
  Workload w;
  w.prompt_min = w.prompt_max = 10;
  w.output_min = w.output_max = 101;
  w.concurrency = 1;
  w.requests = 2;
  w.tokens_per_step = 2.5;
  EXPECT_NEAR(run(constant_steps(EngineKind::kSglang, 10), w, {}).tpot_ms.mean, 4, 1e-3);
}

TEST(Simulation, IsTheSameForTheSameSeed) {
  Workload w;
  w.output_min = 100;
  w.concurrency = 8;
  const Deployment d = constant_steps(EngineKind::kTensorRtLlm, 10);
  EXPECT_EQ(run(d, w, {}).ttft_ms.mean, run(d, w, {}).ttft_ms.mean);
  Workload other = w;
  other.seed = 2;
  EXPECT_NE(run(d, other, {}).ttft_ms.mean, run(d, w, {}).ttft_ms.mean);
}

}  // namespace
}  // namespace ridge::llm
