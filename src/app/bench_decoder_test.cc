// On the fake engine's decoder, whose times are scripted, and a fake clock.
#include "app/bench_decoder.h"

#include <gmock/gmock.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/test_tuning.h"
#include "checkpoint/config.h"

namespace ridge::app {
namespace {

using testing::HasSubstr;

constexpr const char* kTinyConfig =
    R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":64,"num_hidden_layers":2,)"
    R"("num_attention_heads":2,)"
    R"("num_key_value_heads":1,"head_dim":32,"intermediate_size":128,"vocab_size":256,"tie_word_embeddings":true,)"
    R"("max_position_embeddings":4096,"rms_norm_eps":1e-5,"hidden_act":"silu"})";

class BenchDecoder : public TuningTest {
 protected:
  void SetUp() override {
    TuningTest::SetUp();
    ASSERT_TRUE(write_file_atomically(path("m/config.json"), kTinyConfig));
    script(R"({"step_ms":1,"step_ms_per_token":0.1,"step_ms_per_cached_token":0.001,"weight_bytes":20000000})");
    request_.plan.engine = "fake";
    request_.plan.folder = path("m");
    request_.weights = request_.plan.weights = engine::WeightFormat::kFp32;
    request_.plan.cache = engine::CacheForm::kFp32;
    request_.prompt = 64;
    request_.generated = 8;
    request_.batches = {1, 2};
  }
  void script(const std::string& text) { ASSERT_TRUE(write_file_atomically(path("m/decoder.fake.json"), text)); }
  DecoderBenchRequest request_;
};

TEST_F(BenchDecoder, MeasuresPrefillAndDecodesOnTheClockOfItsControl) {
  const Result<DecoderMeasurement> m = bench_decoder(request_, control_);
  ASSERT_TRUE(m) << m.error().message;
  ASSERT_EQ(m->points.size(), 7);
  EXPECT_EQ(m->points[0].kind, StepKind::kPrefill);
  EXPECT_NEAR(m->points[0].step_ms, 7.4, 1e-6);
  EXPECT_NEAR(m->points[0].tokens_per_s, 64 / 7.4e-3, 1e-3);
  EXPECT_EQ(m->points[2].kind, StepKind::kDecode);
  EXPECT_EQ(m->points[2].sequences, 2);
  EXPECT_NEAR(m->points[2].cached, 67.5, 1e-9);  // 64 … 71
  EXPECT_NEAR(m->points[2].step_ms, 1.2 + 2 * 67.5e-3, 1e-6);
  EXPECT_NEAR(m->points[2].tokens_per_s, 2 / 1.335e-3, 1e-3);
  EXPECT_TRUE(m->converged);
  EXPECT_EQ(m->cache_bytes, 2 * 5 * 1024);  // 72 tokens in blocks of 16
  EXPECT_FALSE(m->limits.empty());
}

TEST_F(BenchDecoder, FitsTheLineOfItsSteps) {
  const Result<DecoderMeasurement> m = bench_decoder(request_, control_);
  ASSERT_TRUE(m) << m.error().message;
  EXPECT_NEAR(m->line.fixed, 1e-3, 1e-6);
  EXPECT_NEAR(m->line.per_token, 1e-4, 1e-7);
  EXPECT_NEAR(m->line.per_cached, 1e-6, 1e-8);
  for (const DecoderPoint& point : m->points) EXPECT_NEAR(line_error_percent(point), 0, 0.1);
  // Nine of these ten are off by 1 to 9 %, the last by 50 %.
  std::vector<DecoderPoint> points(10);
  for (size_t i = 0; i < 10; ++i)
    points[i].step_ms = 100, points[i].line_ms = i < 9 ? 101 + static_cast<double>(i) : 50;
  EXPECT_NEAR(line_error_percent(std::span<const DecoderPoint>(points)), 9, 1e-9);
}

// FLOPs and bytes counted by hand from the dimensions.
TEST_F(BenchDecoder, SetsStepsBesideTheLimits) {
  const Result<checkpoint::Config> config = checkpoint::config_from_json(parse_json(kTinyConfig, "").value(), "m");
  ASSERT_TRUE(config) << config.error().message;
  const std::vector<int64_t> batches = {2};
  const std::vector<KindOfStep> steps = steps_of(64, 8, batches);
  measure::StepTimes times;
  for (size_t i = 0; i < steps.size(); ++i) times.cases.push_back({.seconds = 10e-3, .ci95 = {}});
  cost::DeviceLimits limits;
  limits.flops_per_s = {{Precision::kFp32, 1e9}};
  limits.levels = {{"DRAM", 1e10, std::numeric_limits<double>::infinity()}};
  const auto points_with = [&](double quota_factor) {
    return points_of(steps, times,
                     llm::cpu::DecoderLimit(config->model, request_.plan.weights, request_.plan.cache, 20'000'000,
                                            limits, quota_factor));
  };
  const auto points = points_with(1);
  // Per layer: q, o 64 · 64, k, v 64 · 32, three matrices 64 · 128, two norms; a last norm; head 256 · 64. A pair of
  // tokens: 2 · 2 · 64 per layer.
  const double layers = 2 * (2 * (2 * 4096 + 2 * 2048 + 3 * 8192 + 2 * 64) + 64), head = 2 * 256 * 64;
  EXPECT_DOUBLE_EQ(points[0].flops, 64 * layers + head + 512 * 64 * 65 / 2);
  EXPECT_NEAR(points[0].bound.ms, points[0].flops / 1e6, 1e-9);
  EXPECT_EQ(points[0].bound.limiter, cost::Limiter::kCompute);
  EXPECT_NEAR(points[0].percent_of_limit, 100 * points[0].flops / 1e9 / 10e-3, 1e-6);
  EXPECT_DOUBLE_EQ(points[1].flops, 2 * (layers + head + 512 * 68.5));
  EXPECT_DOUBLE_EQ(points[1].bytes, 20e6 + 2 * 67.5 * (2 * 2 * 32 * 4));  // keys and values of 2 layers in FP32
  EXPECT_NEAR(points[1].bound.memory_ms, points[1].bytes / 1e7, 1e-9);
  EXPECT_EQ(points[1].bound.limiter, cost::Limiter::kMemory);
  // Half a CPU takes twice as long for everything.
  EXPECT_NEAR(points_with(0.5)[1].bound.ms, 2 * points[1].bound.ms, 1e-9);
  // The same step as the scheduler gives it, and one that asks for no logits.
  const llm::cpu::DecoderLimit limit(config->model, request_.plan.weights, request_.plan.cache, 20'000'000, limits, 1);
  const std::vector<int32_t> tokens(64);
  EXPECT_NEAR(limit.seconds(std::vector<engine::StepSequence>{{0, tokens, {}, 1}}), points[0].bound.ms / 1e3, 1e-12);
  EXPECT_NEAR(limit.seconds(std::vector<engine::StepSequence>{{0, tokens, {}, 0}}), (points[0].flops - head) / 1e9,
              1e-12);
}

TEST_F(BenchDecoder, LeavesOutUsualBatchesThatTheMemoryDoesNotTake) {
  request_.batches = {};
  script(R"({"step_ms":1,"bytes_per_block":1000000000000})");
  const Result<DecoderMeasurement> m = bench_decoder(request_, control_);
  ASSERT_TRUE(m) << m.error().message;
  EXPECT_EQ(std::ranges::count(m->points, StepKind::kDecode, &DecoderPoint::kind), 1);
  EXPECT_THAT(m->notes, testing::Contains(HasSubstr("a batch of 32 was left out")));
  script(R"({"step_ms":1})");
  EXPECT_EQ(std::ranges::count(bench_decoder(request_, control_)->points, StepKind::kDecode, &DecoderPoint::kind), 3);
}

TEST_F(BenchDecoder, RefusesWhatDoesNotFitTheContext) {
  request_.prompt = 4090;
  const Result<DecoderMeasurement> m = bench_decoder(request_, control_);
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().code, Code::kInvalid);
  EXPECT_THAT(m.error().message, HasSubstr("4098"));
}

TEST_F(BenchDecoder, IsReadBackAsItWasWritten) {
  const Result<DecoderMeasurement> m = bench_decoder(request_, control_);
  ASSERT_TRUE(m) << m.error().message;
  const Json json = json_of(*m);
  const Result<DecoderMeasurement> read = from_json<DecoderMeasurement>(json);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(json_of(*read), json);
}

}  // namespace
}  // namespace ridge::app
