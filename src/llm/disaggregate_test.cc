// Workers of prompts and of tokens against steps worked by hand.
#include "llm/disaggregate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/config.h"

namespace ridge::llm {
namespace {

// A model without costs but its engine's: every step takes `step_ms`, whatever is in it.
StepTable steps_of(double step_ms) {
  Deployment d;
  d.model = checkpoint::config_from_flags("layers=1,heads=1,hidden=64,intermediate=64,vocabulary=64")->model;
  d.gpu.flops_per_s = {{Precision::kBf16, 1e30}};
  d.gpu.bytes_per_s = 1e30;
  d.gpu.multiprocessors = 100;
  d.gpu.laws[{"gemm", "bfloat16"}] = {};
  d.costs.kernel_us = 1;
  d.costs.kernel_us = step_ms / (1e3 * kernels_of(d, {1, 1, {}, 0}).back().time.seconds);
  return StepTable(d, 9000);
}

struct Given {
  Pool prefill, decode;
  double transfer_s = 0;
  EngineCosts costs;
  double prefill_ms = 20, decode_ms = 10;
};

DisaggregatedSimulation run(const Given& g, const Workload& w) {
  const StepTable prompts = steps_of(g.prefill_ms), tokens = steps_of(g.decode_ms);
  const auto result =
      simulate_disaggregated(prompts, g.prefill, tokens, g.decode, g.transfer_s, EngineKind::kSglang, g.costs, w);
  if (result) return *result;
  ADD_FAILURE() << result.error().message;
  return {};
}

TEST(Disaggregation, ARequestIsPrefilledMovedAndDecoded) {
  Workload w;
  w.trace = {{0, 1000, 11}};
  Given g;
  g.transfer_s = 5e-6;
  // 1 ms to the scheduler, one step of 20 ms, 1000 tokens of 5 us to the other worker; then ten steps.
  const DisaggregatedSimulation r = run(g, w);
  EXPECT_NEAR(r.all.ttft_ms.mean, 1 + 20 + 5, 1e-3);
  EXPECT_NEAR(r.all.tpot_ms.mean, 10, 1e-3);
  EXPECT_NEAR(r.prefill_busy, 20.0 / 126, 1e-3);
  EXPECT_NEAR(r.decode_busy, 100.0 / 126, 1e-3);
  // The engine's, the router's and the handover's part, and the steps until a token is delivered.
  g.costs.fixed_ms = 7;
  g.costs.router_ms = 30;
  g.costs.handover_ms = 50;
  g.costs.lag_steps = 2;
  EXPECT_NEAR(run(g, w).all.ttft_ms.mean, 26 + 7 + 30 + 50 + 2 * 10, 1e-3);
}

TEST(Disaggregation, PromptsDoNotStopDecoding) {
  // The second request's prompt is computed in four chunks while the first one decodes: a token every step.
  Workload w;
  w.trace = {{0, 100, 40}, {0.05, 400, 2}};
  Given g;
  g.prefill.chunk_tokens = 100;
  const DisaggregatedSimulation r = run(g, w);
  EXPECT_NEAR(r.all.tpot_ms.p99, 10, 1e-3);
  // At 51 ms a prompt of four steps; its end at 131 ms is the end of a decode step.
  EXPECT_NEAR(r.all.ttft_ms.p99, 81, 1e-3);
}

TEST(Disaggregation, RequestsGoToTheWorkersInTurn) {
  // Three requests at once and two decode workers of one place each. The prompts end after 21, 41 and 61 ms; the third
  // one comes to the first worker, whose sequence of 11 tokens ends at 121 ms, though the other's of 3 has ended at 61.
  Workload w;
  w.trace = {{0, 100, 11}, {0, 100, 3}, {0, 100, 2}};
  Given g;
  g.prefill.chunk_tokens = 100;
  g.decode.workers = 2;
  g.decode.most_sequences = 1;
  EXPECT_NEAR(run(g, w).all.ttft_ms.p99, 121, 1e-3);
  g.decode.most_sequences = 2;
  EXPECT_NEAR(run(g, w).all.ttft_ms.p99, 61, 1e-3);
}

TEST(Disaggregation, AttentionReplicasOfAWorkerComputePromptsTogether) {
  Workload w;
  w.trace = {{0, 100, 1}, {0, 100, 1}, {0, 100, 1}, {0, 100, 1}, {0, 100, 1}};
  Given g;
  g.prefill.chunk_tokens = 100;
  g.prefill.replicas = 4;
  // The first prompt reaches the worker alone, the other four wait for its step and fill the replicas.
  EXPECT_NEAR(run(g, w).all.ttft_ms.mean, (21 + 4 * 41) / 5.0, 1e-3);
  g.prefill.replicas = 2;
  EXPECT_NEAR(run(g, w).all.ttft_ms.mean, (21 + 2 * 41 + 2 * 61) / 5.0, 1e-3);
}

TEST(Disaggregation, SequencesWaitForTheCache) {
  Workload w;
  w.trace = {{0, 100, 11}, {0, 100, 11}};
  Given g;
  g.decode.cache_tokens = 150;
  EXPECT_NEAR(run(g, w).all.ttft_ms.p99, 121, 1e-3);
  g.decode.cache_tokens = 110;
  const StepTable steps = steps_of(10);
  const auto never = simulate_disaggregated(steps, g.prefill, steps, g.decode, 0, EngineKind::kVllm, EngineCosts{}, w);
  ASSERT_FALSE(never);
  EXPECT_THAT(never.error().message, ::testing::HasSubstr("110"));
}

TEST(Disaggregation, AClosedLoadKeepsItsConcurrency) {
  Workload w;
  w.prompt_min = w.prompt_max = 100;
  w.output_min = w.output_max = 101;
  w.concurrency = 8;
  w.requests = 80;
  const DisaggregatedSimulation r = run({}, w);
  // At most 8 sequences at 10 ms a step.
  EXPECT_GT(r.all.output_tokens_per_s, 700);
  EXPECT_LE(r.all.output_tokens_per_s, 800 * 101.0 / 100);
  EXPECT_NEAR(r.all.mean_decoding, 7.5, 0.6);
}

}  // namespace
}  // namespace ridge::llm
