#include "precision/guard.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/fake_clock.h"
#include "precision/test_model.h"

namespace ridge::precision {
namespace {

// Outputs y = f(x), of x's type and shape.
class Function : public engine::Session {
 public:
  explicit Function(std::function<float(float)> f, Shape shape = {-1, 4})
      : signature_{{{"x", DataType::kFp32, shape}}, {{"y", DataType::kFp32, shape}}, {}}, f_(std::move(f)) {}
  const engine::Signature& signature() const override { return signature_; }
  const engine::Info& info() const override { return info_; }
  Status run(std::span<const TensorView> inputs, std::span<const int>, std::span<engine::Output> outputs,
             engine::RunTimes*) override {
    auto memory = std::make_shared<Buffer>(inputs[0].data.size());
    for (size_t i = 0; i < inputs[0].data.size() / sizeof(float); ++i) {
      float value = 0;
      std::memcpy(&value, inputs[0].data.data() + i * sizeof value, sizeof value);
      value = f_(value);
      std::memcpy(memory->data() + i * sizeof value, &value, sizeof value);
    }
    outputs[0] = {DataType::kFp32, inputs[0].shape, memory->span(), memory};
    return {};
  }
  Result<std::vector<engine::NodeTime>> take_profile(int) override { return std::vector<engine::NodeTime>{}; }

 private:
  engine::Signature signature_;
  engine::Info info_;
  std::function<float(float)> f_;
};

std::vector<Sample> samples_of(const std::vector<std::vector<float>>& rows) {
  std::vector<Sample> samples;
  for (const std::vector<float>& row : rows) {
    samples.emplace_back();
    samples.back().push_back(tensor_of(DataType::kFp32, {1, static_cast<int64_t>(row.size())}, row));
  }
  return samples;
}

const std::vector<std::vector<float>> kRows = {{1, 2, 3, 4}, {4, 3, 2, 1}, {1, 5, 1, 1}, {0, 0, 2, 1}};

AccuracyVerdict verdict_of(const std::function<float(float)>& f, const GuardLimits& limits = {}) {
  const std::vector<Sample> samples = samples_of(kRows);
  Function reference([](float x) { return x; });
  Function candidate(f);
  Result<Answers> answers = answers_of(reference, samples);
  EXPECT_TRUE(answers);
  Result<AccuracyVerdict> verdict = judge(*answers, candidate, samples, limits);
  EXPECT_TRUE(verdict) << verdict.error().message;
  return verdict ? *verdict : AccuracyVerdict{};
}

TEST(Guard, HoldsForASmallDifference) {
  const AccuracyVerdict verdict = verdict_of([](float x) { return x * 1.001f; });
  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(verdict.samples, 4u);
  EXPECT_NEAR(verdict.worst.relative_l2, 1e-3, 1e-6);
  EXPECT_EQ(verdict.outputs[0].rows, 4);
  EXPECT_EQ(verdict.worst.top1_agreement, 1);
}

TEST(Guard, FailsBelowTheCosineAndSaysSo) {
  const AccuracyVerdict verdict = verdict_of([](float x) { return x == 1 ? 0 : x; });
  EXPECT_FALSE(verdict.holds);
  EXPECT_NE(verdict.sentence.find("'y': cosine 0.96"), std::string::npos) << verdict.sentence;
  EXPECT_NE(verdict.sentence.find("at least 0.999"), std::string::npos) << verdict.sentence;
}

TEST(Guard, FailsWhenTheLargestElementMoves) {
  GuardLimits limits;
  limits.cosine = 0.5;
  const AccuracyVerdict verdict = verdict_of([](float x) { return x == 5 ? 0.5f : x; }, limits);
  EXPECT_FALSE(verdict.holds);
  EXPECT_NE(verdict.sentence.find("same top-1 in 3 of 4 rows"), std::string::npos) << verdict.sentence;
  limits.top1_agreement = 0.75;
  EXPECT_TRUE(verdict_of([](float x) { return x == 5 ? 0.5f : x; }, limits).holds);
}

TEST(Guard, MaxDeviationReplacesTheOtherLimits) {
  GuardLimits limits;
  limits.max_deviation = 0.05;
  EXPECT_TRUE(verdict_of([](float x) { return x * 1.04f; }, limits).holds);
  const AccuracyVerdict verdict = verdict_of([](float x) { return x * 1.06f; }, limits);
  EXPECT_FALSE(verdict.holds);
  EXPECT_NE(verdict.sentence.find("relative L2 0.06, at most 0.05"), std::string::npos) << verdict.sentence;
}

TEST(Guard, ValuesThatAreNotFiniteFailWhateverTheLimits) {
  GuardLimits limits;
  limits.max_deviation = 1e9;
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const AccuracyVerdict verdict = verdict_of([bad](float x) { return x == 5 ? bad : x; }, limits);
    EXPECT_FALSE(verdict.holds);
    EXPECT_NE(verdict.sentence.find("non-finite"), std::string::npos) << verdict.sentence;
  }
}

bool say_nothing_of(const std::vector<std::vector<float>>& rows, const std::function<float(float)>& f) {
  Function reference(f);
  const std::vector<Sample> samples = samples_of(rows);
  return say_nothing(*answers_of(reference, samples));
}

TEST(Guard, AnswersThatAreTheSameForAllSamplesSayNothing) {
  EXPECT_TRUE(say_nothing_of({{0, 0}, {0, 0}, {0, 0}}, [](float x) { return x; }));
  EXPECT_TRUE(say_nothing_of(kRows, [](float) { return 7.0f; }));
  EXPECT_TRUE(say_nothing_of({{1, 2}}, [](float) { return 7.0f; })) << "one sample whose elements are the same";
  EXPECT_TRUE(say_nothing_of({{1, 2}, {3, 4}}, [](float x) { return std::copysign(std::nanf(""), x - 2); }));
  EXPECT_FALSE(say_nothing_of({{1, 2}}, [](float x) { return x; }));
  EXPECT_FALSE(say_nothing_of({{1, 2}, {1, 2}, {1, 3}}, [](float x) { return x; }));
}

TEST(Guard, OnlyRankTwoFloatsWithClassesAreClassifierShaped) {
  const std::vector<std::byte> none;
  EXPECT_TRUE(is_classifier_shaped({DataType::kFp32, {1, 1000}, none}));
  EXPECT_FALSE(is_classifier_shaped({DataType::kFp32, {1, 1}, none}));
  EXPECT_FALSE(is_classifier_shaped({DataType::kFp32, {1, 84, 8400}, none}));
  EXPECT_FALSE(is_classifier_shaped({DataType::kInt64, {1, 1000}, none}));
}

// Two outputs: a pooled vector behind Tanh and Squeeze, and scores behind MatMul.
TEST(Guard, VectorsAreToldFromScoresByTheirOperator) {
  model::Graph graph;
  for (const char* name : {"x", "t", "pooled", "scores"}) graph.tensors.push_back({name, DataType::kFp32, {}, {}, {}});
  graph.nodes = {
      {"n1", "Tanh", "", {0}, {1}, {}}, {"n2", "Squeeze", "", {1}, {2}, {}}, {"n3", "MatMul", "", {1}, {3}, {}}};
  graph.outputs = {2, 3};
  EXPECT_EQ(vector_outputs(graph), std::set<std::string>{"pooled"});
}

TEST(Guard, VectorsAreNotJudgedByTopOne) {
  GuardLimits limits;
  limits.cosine = 0.5;
  limits.vectors = {"y"};
  EXPECT_TRUE(verdict_of([](float x) { return x == 5 ? 0.5f : x; }, limits).holds);
}

TEST(Guard, TimeEndsTheReferenceAfterTwoSamples) {
  const std::vector<Sample> samples = samples_of(kRows);
  FakeClock clock;
  Function slow([&clock](float x) {
    clock.advance(std::chrono::milliseconds(1));
    return x;
  });
  AnswerOptions options;
  options.seconds = 1e-3;
  options.clock = &clock;
  Result<Answers> answers = answers_of(slow, samples, options);
  ASSERT_TRUE(answers);
  EXPECT_EQ(answers->per_sample.size(), 2u);
  Result<AccuracyVerdict> verdict = judge(*answers, slow, samples, {});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->samples, 2u);
}

TEST(Guard, InterruptionIsNoVerdict) {
  const std::vector<Sample> samples = samples_of(kRows);
  Function same([](float x) { return x; });
  Result<Answers> answers = answers_of(same, samples);
  ASSERT_TRUE(answers);
  Result<AccuracyVerdict> verdict = judge(*answers, same, samples, {}, [] { return true; });
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, Code::kCancelled);
}

TEST(Guard, JsonHasTheFieldsOfDeviation) {
  const Json json = json_of(verdict_of([](float x) { return x; }));
  EXPECT_EQ(json["holds"], true);
  for (const char* field : {"max_abs", "relative_l2", "cosine", "top1_agreement"}) {
    EXPECT_TRUE(json["drift"].contains(field)) << field;
    EXPECT_TRUE(json["outputs"][0].contains(field)) << field;
  }
}

}  // namespace
}  // namespace ridge::precision
