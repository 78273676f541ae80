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

TEST(Advice, AtTheMemoryLimitOnlyFewerBytesHelp) {
  cost::DeviceLimits plain = limits(0);
  EXPECT_EQ(advise(reaching(80, cost::Limiter::kMemory), &plain).id, "memory-limit");
}

TEST(Advice, FarFromTheLimitNamesTheOperatorThatLosesMost) {
  cost::DeviceLimits plain = limits(0);
  Measurement m = reaching(40, cost::Limiter::kCompute);
  m.layers = {{.name = "a", .op = "Conv", .ms = 10, .bound_ms = 9},
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

}  // namespace
}  // namespace ridge::measure
