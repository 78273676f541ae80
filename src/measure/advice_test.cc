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
  EXPECT_EQ(advise(reaching(94, cost::Limiter::kCompute), &plain),
            "FP32 runs at 94 % of this machine's FP32 limit: only lower precision or more cores can help.");
}

TEST(Advice, NamesThePrecisionThatThisMachineIsFasterAt) {
  cost::DeviceLimits with_int8 = limits(3.8e11);
  EXPECT_NE(advise(reaching(94, cost::Limiter::kCompute), &with_int8).find("INT8 has a 3.8 times higher limit here"),
            std::string::npos);
}

TEST(Advice, AtTheMemoryLimitOnlyFewerBytesHelp) {
  cost::DeviceLimits plain = limits(0);
  EXPECT_NE(advise(reaching(80, cost::Limiter::kMemory), &plain).find("fewer bytes"), std::string::npos);
}

TEST(Advice, FarFromTheLimitNamesTheOperatorThatLosesMost) {
  cost::DeviceLimits plain = limits(0);
  Measurement m = reaching(40, cost::Limiter::kCompute);
  m.layers = {{.name = "a", .op = "Conv", .ms = 10, .bound_ms = 9},
              {.name = "b", .op = "Softmax", .ms = 10, .bound_ms = 1}};
  EXPECT_NE(advise(m, &plain).find("Softmax loses most, 45 % of the time"), std::string::npos) << advise(m, &plain);
}

TEST(Advice, ATinyModelIsMostlyTheEnginesOwnWork) {
  cost::DeviceLimits plain = limits(0);
  Measurement m = reaching(3, cost::Limiter::kMemory);
  m.bound_ms = 0.001;
  EXPECT_NE(advise(m, &plain).find("larger batches"), std::string::npos);
}

TEST(Advice, WithoutALimitItPromisesNothing) {
  EXPECT_NE(advise(reaching(50, cost::Limiter::kCompute), nullptr).find("not known"), std::string::npos);
}

}  // namespace
}  // namespace ridge::measure
