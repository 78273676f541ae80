#include "measure/advice.h"

#include <gtest/gtest.h>

namespace ridge::measure {
namespace {

cost::DeviceLimits limits(double int8) {
  cost::DeviceLimits limits;
  limits.flops_per_s = {{Precision::kFp32, 1e11}};
  if (int8 > 0) limits.flops_per_s.emplace_back(Precision::kInt8, int8);
  return limits;
}

Measurement reaching(double percent, cost::Limiter limiter) {
  Measurement m;
  m.bound_ms = 10;
  m.percent_of_limit = percent;
  m.limiter = limiter;
  return m;
}

TEST(Advice, AtTheComputeLimitOnlyPrecisionOrCoresHelp) {
  cost::DeviceLimits plain = limits(0);
  const Advice advice = advise(reaching(94, cost::Limiter::kCompute), &plain);
  EXPECT_EQ(advice.id, "compute-limit");
  EXPECT_NE(advice.sentence.find("94 %"), std::string::npos);
  EXPECT_EQ(advice.sentence.find("INT8"), std::string::npos);
}

TEST(Advice, NamesThePrecisionThatThisMachineIsFasterAt) {
  cost::DeviceLimits with_int8 = limits(3.8e11);
  const std::string sentence = advise(reaching(94, cost::Limiter::kCompute), &with_int8).sentence;
  EXPECT_NE(sentence.find("INT8"), std::string::npos);
  EXPECT_NE(sentence.find("3.8"), std::string::npos);
}

// On a GPU data and algorithm explain it first; on a CPU nothing but wrong limits does.
TEST(Advice, AboveTheLimitAGpusDataAndAlgorithmComeBeforeItsLimits) {
  cost::DeviceLimits gpu = limits(0);
  const Advice of_cpu = advise(reaching(108, cost::Limiter::kCompute), &gpu);
  EXPECT_EQ(of_cpu.id, "limits-too-low");
  gpu.sources = {{"fp16", 1e11}};
  const Advice of_gpu = advise(reaching(108, cost::Limiter::kCompute), &gpu);
  EXPECT_EQ(of_gpu.id, "above-limit");
  const size_t zeros = of_gpu.sentence.find("zeros"), winograd = of_gpu.sentence.find("Winograd");
  ASSERT_NE(winograd, std::string::npos) << of_gpu.sentence;
  EXPECT_LT(zeros, winograd);
  EXPECT_LT(winograd, of_gpu.sentence.find("--fresh"));
}

TEST(Advice, AtTheMemoryLimitOnlyFewerBytesHelp) {
  cost::DeviceLimits plain = limits(0);
  EXPECT_EQ(advise(reaching(80, cost::Limiter::kMemory), &plain).id, "memory-limit");
}

TEST(Advice, FarFromTheLimitNamesTheOperatorThatLosesMost) {
  cost::DeviceLimits plain = limits(0);
  Measurement m = reaching(40, cost::Limiter::kCompute);
  m.layers = {{.name = "a", .op = "Conv", .ms = 10, .macs = 1, .bound_ms = 9},
              {.name = "b", .op = "Softmax", .ms = 10, .bound_ms = 1}};
  const Advice advice = advise(m, &plain);
  EXPECT_EQ(advice.id, "larger-batch");
  EXPECT_NE(advice.sentence.find("Softmax"), std::string::npos);
  EXPECT_NE(advice.sentence.find("45 %"), std::string::npos);
  m.batch = 8;
  EXPECT_EQ(advise(m, &plain).id, "other-threads");
}

TEST(Advice, ADisturbedMeasurementCarriesNoneAboutTheModel) {
  cost::DeviceLimits plain = limits(0);
  Measurement m = reaching(6, cost::Limiter::kCompute);
  m.disturbance.emplace();
  m.disturbance->seconds = 20;
  m.disturbance->cpus = 2;
  m.disturbance->share_of_cpu_got = 0.12;
  m.disturbance->waited_s = 30;
  m.latency_ms.mean = 24;
  m.latency_ms.p50 = 2;
  m.latency_ms.min = 1.5;
  m.throughput_per_s = 100;
  m.undisturbed = undisturbed(m);
  EXPECT_EQ(m.undisturbed->by, "median");
  EXPECT_NEAR(m.undisturbed->percent_of_limit, 72, 1e-9);
  EXPECT_NEAR(m.undisturbed->throughput_per_s, 1200, 1e-9);
  const Advice advice = advise(m, &plain);
  EXPECT_EQ(advice.id, "disturbed");
  EXPECT_NE(advice.sentence.find("12.0 %"), std::string::npos) << advice.sentence;
  EXPECT_NE(advice.sentence.find("72 %"), std::string::npos) << advice.sentence;
  m.latency_ms.p50 = 12;  // the median run was interrupted too
  EXPECT_EQ(undisturbed(m).by, "fastest");
  EXPECT_NEAR(undisturbed(m).percent_of_limit, 96, 1e-9);
  m.disturbance->share_of_cpu_got = 0.95;
  EXPECT_EQ(advise(m, &plain).id, "larger-batch");
}

TEST(Advice, OfAnOpenLoopIsAboutTheLoad) {
  cost::DeviceLimits plain = limits(0);
  Measurement m = reaching(3, cost::Limiter::kMemory);
  m.bound_ms = 0.001;
  m.load = OpenLoad{1000, 998, 0.04, 0.002};
  EXPECT_EQ(advise(m, &plain).id, "kept-up");
  EXPECT_NE(advise(m, &plain).sentence.find("4.0 %"), std::string::npos);
  m.load = OpenLoad{1000, 740, 1, 250};
  EXPECT_EQ(advise(m, &plain).id, "overloaded");
  EXPECT_NE(advise(m, &plain).sentence.find("740"), std::string::npos);
  m.load = OpenLoad{1000, 1001, 0.99, 2};  // just what it can do
  EXPECT_EQ(advise(m, &plain).id, "kept-up");
}

TEST(Advice, ATinyModelIsMostlyTheEnginesOwnWork) {
  cost::DeviceLimits plain = limits(0);
  Measurement m = reaching(3, cost::Limiter::kMemory);
  m.bound_ms = 0.001;
  EXPECT_EQ(advise(m, &plain).id, "small-model");
}

TEST(Advice, WithoutALimitItPromisesNothing) {
  EXPECT_EQ(advise(reaching(50, cost::Limiter::kCompute), nullptr).id, "limit-unknown");
}

// Models as a first user brought them, with the figures that a quiet machine shows: time of a run, bound, nodes, and
// where given the layers. Their shares of the limit follow.
struct Case {
  const char* name;
  double p50_ms, bound_ms;
  int64_t nodes;
  std::vector<Layer> layers;
  const char* id;
  const char* says;  // in the sentence
  bool open_batch = true;
  std::vector<std::string> without_rule = {};
};

Layer layer_of(const char* op, double ms, double macs) { return {.name = op, .op = op, .ms = ms, .macs = macs}; }

Measurement measured(const Case& c) {
  Measurement m;
  m.latency_ms.p50 = m.latency_ms.mean = c.p50_ms;
  m.bound_ms = c.bound_ms;
  m.limiter = c.bound_ms > 0 ? cost::Limiter::kCompute : cost::Limiter::kUnknown;
  m.percent_of_limit = 100 * c.bound_ms / c.p50_ms;
  m.nodes = c.nodes;
  m.layers = c.layers;
  m.open_batch = c.open_batch;
  m.without_rule = c.without_rule;
  return m;
}

TEST(Advice, IsRightOnModelsOfAllKinds) {
  const cost::DeviceLimits plain = limits(0);
  const std::vector<std::string> trees = {"ai.onnx.ml.TreeEnsembleClassifier × 1"};
  const Case cases[] = {
      {"cnn: 4 small convolutions", 0.038, 0.027, 9, {}, "compute-limit", "71 %"},
      {"crnn: convolution and LSTM",
       2.1,
       0.35,
       14,
       {layer_of("LSTM", 1.6, 1e6), layer_of("Conv", 0.5, 1e6)},
       "larger-batch",
       "most of the loss is in LSTM"},
      {"det: convolution and NMS",
       0.9,
       0.012,
       11,
       {layer_of("NonMaxSuppression", 0.6, 0), layer_of("Conv", 0.3, 1e5)},
       "one-operator",
       "NonMaxSuppression takes 66.7 %"},
      {"det without layers", 0.9, 0.012, 11, {}, "see-layers", "--layers"},
      {"u8: bytes in", 0.03, 0.001, 5, {}, "small-model", "larger batches"},
      {"vec: no batch", 0.007, 0.0001, 3, {}, "small-model", "open first dimension", false},
      {"txt: ids and a mask", 0.06, 0.002, 12, {}, "small-model", "per-call overhead"},
      {"rf: trees", 0.4, 0, 2, {}, "limit-unknown", "no rule", true, trees},
      {"gbr: trees, with layers",
       0.4,
       0,
       2,
       {layer_of("TreeEnsembleRegressor", 0.38, 0)},
       "limit-unknown",
       "TreeEnsembleRegressor takes 100",
       true,
       trees},
      {"lr: linear", 0.004, 0, 3, {}, "limit-unknown", "not known", true, {"ai.onnx.ml.LinearClassifier × 1"}},
      {"resnet50", 28, 19, 122, {layer_of("Conv", 26, 4e9), layer_of("Add", 2, 0)}, "larger-batch", "is in Conv"},
      {"squeezenet", 2.9, 1.6, 66, {}, "larger-batch", "--layers"},
      {"a picture of fixed size", 28, 19, 122, {}, "other-threads", "threads and instances", false},
  };
  for (const Case& c : cases) {
    const Advice advice = advise(measured(c), &plain);
    EXPECT_EQ(advice.id, c.id) << c.name << ": " << advice.sentence;
    EXPECT_NE(advice.sentence.find(c.says), std::string::npos) << c.name << ": " << advice.sentence;
  }
}

}  // namespace
}  // namespace ridge::measure
