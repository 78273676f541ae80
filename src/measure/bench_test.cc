#include "measure/bench.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/fake_clock.h"

namespace ridge::measure {
namespace {

plan::Plan scripted(std::map<std::string, std::string> options) {
  plan::Plan plan;
  plan.model = "scripted";
  plan.engine = "fake";
  plan.options = std::move(options);
  plan.shapes["x"] = {4, 16};
  return plan;
}

BenchOptions short_one() {
  BenchOptions options;
  options.max_time = std::chrono::milliseconds(1500);
  return options;
}

Result<Measurement> bench_fake(const plan::Plan& plan, const BenchOptions& options) {
  FakeClock clock;
  return bench(plan, nullptr, nullptr, options, clock);
}

TEST(Bench, MeasuresWhatTheScriptSays) {
  const Result<Measurement> m = bench_fake(scripted({{"latency_ms", "10"}, {"load_ms", "20"}}), short_one());
  ASSERT_TRUE(m) << m.error().message;
  EXPECT_EQ(m->engine, "fake");
  EXPECT_EQ(m->batch, 4);
  EXPECT_DOUBLE_EQ(m->latency_ms.p50, 10);
  EXPECT_DOUBLE_EQ(m->latency_ms.p99, 10);
  EXPECT_DOUBLE_EQ(m->throughput_per_s, 400);
  EXPECT_DOUBLE_EQ(m->stages_ms.load, 20);
  EXPECT_DOUBLE_EQ(m->stages_ms.first_run, 10);
  EXPECT_DOUBLE_EQ(m->stages_ms.compute, 10);
  EXPECT_EQ(m->samples, 50) << "half a second, after which the interval is narrow enough";
  EXPECT_TRUE(m->converged);
}

TEST(Bench, InstancesRunAtTheSameTime) {
  plan::Plan plan = scripted({{"latency_ms", "20"}, {"parallel", "1"}});  // of each session
  plan.instances = 3;
  const Result<Measurement> three = bench_fake(plan, short_one());
  ASSERT_TRUE(three);
  EXPECT_EQ(three->concurrency, 3);
  EXPECT_DOUBLE_EQ(three->throughput_per_s, 3 * 4 / 20e-3);
}

TEST(Bench, CallersOfOneSessionWaitForEachOther) {
  BenchOptions options = short_one();
  options.concurrency = 3;
  const Result<Measurement> m = bench_fake(scripted({{"latency_ms", "20"}, {"parallel", "1"}}), options);
  ASSERT_TRUE(m);
  EXPECT_DOUBLE_EQ(m->throughput_per_s, 4 / 20e-3);
  EXPECT_DOUBLE_EQ(m->latency_ms.p50, 60);
}

TEST(Bench, AnOpenLoopSaysHowItsLoadIsCarried) {
  BenchOptions options = short_one();
  options.rate_per_s = 20;
  Result<Measurement> m = bench_fake(scripted({{"latency_ms", "10"}}), options);
  ASSERT_TRUE(m) << m.error().message;
  ASSERT_TRUE(m->load);
  EXPECT_TRUE(kept_up(*m->load));
  EXPECT_NEAR(m->load->busy_share, 0.2, 0.02);
  EXPECT_NEAR(m->load->queueing_ms, 0, 1e-9);
  EXPECT_EQ(m->advice.id, "kept-up");
  options.rate_per_s = 200;
  m = bench_fake(scripted({{"latency_ms", "10"}}), options);
  ASSERT_TRUE(m) << m.error().message;
  EXPECT_FALSE(kept_up(*m->load));
  EXPECT_NEAR(m->load->achieved_per_s, 100, 2);
  EXPECT_EQ(m->advice.id, "overloaded");
}

struct TimedBench {
  Measurement m;
  double seconds = 0;  // that all of it took
};
TimedBench timed(double run_ms, BenchOptions options) {
  FakeClock clock;
  const TimePoint begin = clock.now();
  const auto m = bench(scripted({{"latency_ms", std::to_string(run_ms)}}), nullptr, nullptr, options, clock);
  EXPECT_TRUE(m) << m.error().message;
  return {m ? *m : Measurement{}, to_seconds(clock.now() - begin)};
}

// Runs take between a hundredth of the time and more than all of it.
TEST(Bench, TheTimeIsAnUpperBoundForAllOfItUnlessOneRunExceedsIt) {
  BenchOptions options;
  options.max_time = std::chrono::seconds(5);
  options.half_width_percent = 0;  // never narrow enough
  for (const double run_ms : {50.0, 400.0, 900.0, 1300.0, 2000.0, 2400.0, 3000.0, 9000.0}) {
    const TimedBench timed_bench = timed(run_ms, options);
    EXPECT_LE(timed_bench.seconds, std::max(5.05, run_ms / 1e3 + 0.05)) << run_ms;
    EXPECT_GE(timed_bench.m.samples, 1) << run_ms;
    EXPECT_DOUBLE_EQ(timed_bench.m.latency_ms.p50, run_ms);
    EXPECT_FALSE(timed_bench.m.converged);
    EXPECT_EQ(timed_bench.m.cold, 2 * run_ms > 5000) << run_ms;
  }
}

TEST(Bench, TheProfileOfTheLayersIsPartOfTheTime) {
  BenchOptions options;
  options.max_time = std::chrono::seconds(5);
  options.half_width_percent = 0;
  options.layers = true;
  EXPECT_LE(timed(50, options).seconds, 5.5) << "and at least three profiled runs";
}

TEST(Bench, PercentilesAndThroughputHaveIntervals) {
  const Result<Measurement> m = bench_fake(scripted({{"latency_ms", "10"}}), short_one());
  ASSERT_TRUE(m);
  EXPECT_EQ(m->latency_ci95_ms.p50.low, 10);
  EXPECT_EQ(m->latency_ci95_ms.p50.high, 10);
  EXPECT_EQ(m->latency_ci95_ms.p99.low, 10);
  EXPECT_FALSE(m->latency_ci95_ms.p99.high) << "50 runs do not know it";
  EXPECT_NEAR(*m->throughput_ci95_per_s.low, 400, 1e-6);
  EXPECT_NEAR(*m->throughput_ci95_per_s.high, 400, 1e-6);
}

TEST(Bench, AFailingRunIsAnErrorThatSaysWhy) {
  Result<Measurement> m = bench_fake(scripted({{"fail_runs", "[5]"}, {"latency_ms", "1"}}), short_one());
  ASSERT_FALSE(m.ok());
  EXPECT_NE(m.error().message.find("run 5"), std::string::npos);
}

TEST(Bench, InterruptedItReportsWhatItHas) {
  BenchOptions options = short_one();
  int looks = 0;
  options.interrupted = [&] { return ++looks > 20; };
  Result<Measurement> m = bench_fake(scripted({{"latency_ms", "1"}}), options);
  ASSERT_TRUE(m.ok()) << m.error().message;
  EXPECT_TRUE(m->interrupted);
  EXPECT_FALSE(m->converged);
  EXPECT_GT(m->samples, 0);
}

// The first poll ends the profiling after the measurement: before any counted run.
TEST(Bench, InterruptedWhileProfilingItKeepsTheMeasurementWithoutLayers) {
  BenchOptions options = short_one();
  options.layers = true;
  bool profiling = false;
  options.progress = [&](const std::string& step, double) { profiling = step == "profile"; };
  options.interrupted = [&] { return profiling; };
  Result<Measurement> m = bench_fake(scripted({{"latency_ms", "1"}}), options);
  ASSERT_TRUE(m.ok()) << m.error().message;
  EXPECT_TRUE(m->interrupted);
  EXPECT_GT(m->samples, 0);
  EXPECT_TRUE(m->layers.empty());
}

TEST(Bench, LayersComeFromTheProfile) {
  BenchOptions options = short_one();
  options.layers = true;
  Result<Measurement> m = bench_fake(scripted({{"latency_ms", "2"}}), options);
  ASSERT_TRUE(m.ok()) << m.error().message;
  ASSERT_EQ(m->layers.size(), 1u);
  EXPECT_DOUBLE_EQ(m->layers[0].ms, 2);
  EXPECT_FALSE(m->layers[0].has_rule);
}

TEST(Measurement, IsReadBackAsItWasWritten) {
  Measurement m;
  m.model = "a.onnx";
  m.engine_version = "1.31.1";
  m.threads = 2;
  m.instances = 3;
  m.batch = 8;
  m.latency_ms = {5, 4, 6, 7, 8, 3, 9};
  m.throughput_per_s = 1600;
  m.ci95_percent = 1.5;
  m.samples = 44;
  m.converged = false;
  m.stages_ms = {1, 2, 3, 4, 5};
  m.percent_of_limit = 61;
  m.limiter = cost::Limiter::kMemory;
  m.rss_delta_bytes = 1 << 20;
  m.layers = {{.name = "conv", .op = "Conv", .ms = 3, .flops = 1e9, .limiter = cost::Limiter::kCompute}};
  m.without_rule = {"my.Op × 2"};
  Json json = to_json(m);
  Result<Measurement> back = from_json<Measurement>(json);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(dump_json(to_json(*back)), dump_json(json));
}

TEST(Measurement, HasTheMembersOfTheContract) {
  Json json = to_json(Measurement{});
  for (const char* key : {"model", "engine", "engine_version", "device", "precision", "threads", "instances", "batch",
                          "latency_ms", "throughput_per_s", "ci95_percent", "samples", "stages_ms", "bound_ms",
                          "percent_of_limit", "limiter", "memory_bytes", "layers"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_TRUE(json["memory_bytes"].contains("rss_delta"));
}

TEST(Measurement, DamagedJsonIsAnError) {
  EXPECT_FALSE(from_json<Measurement>(Json::array()).ok());
  EXPECT_FALSE(from_json<Measurement>({{"threads", "two"}}).ok());
  EXPECT_FALSE(from_json<Measurement>({{"precision", "fp31"}}).ok());
}

}  // namespace
}  // namespace ridge::measure
