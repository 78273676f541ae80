#include "tune/surrogate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tune/test_layout.h"

namespace ridge::tune {
namespace {

PricedCandidate priced_entry(const std::string& variant, int threads, int64_t batch, double max_rows_per_s = 0) {
  PricedCandidate entry;
  entry.candidate = laid_out(threads, 1, batch);
  entry.candidate.variant = variant;
  entry.max_rows_per_s = max_rows_per_s;
  return entry;
}

// Two variants, three batches; 0 … 2 are fp32, 3 … 5 are int8.
std::vector<PricedCandidate> six() {
  std::vector<PricedCandidate> entries;
  for (const char* variant : {"fp32", "int8"})
    for (int64_t batch : {1, 4, 16}) entries.push_back(priced_entry(variant, 2, batch));
  return entries;
}

Surrogate taught(const std::vector<PricedCandidate>& entries, const std::vector<Observation>& seen) {
  Surrogate surrogate(points_of(entries, Objective::kThroughput));
  surrogate.learn(seen);
  return surrogate;
}

TEST(Surrogate, WhatWasMeasuredIsBelieved) {
  const Surrogate surrogate = taught(six(), {{1, 0.4, 1e-6}, {4, 1.1, 1e-6}});
  EXPECT_NEAR(surrogate.posterior(1).mean, 0.4, 1e-3);
  EXPECT_NEAR(surrogate.posterior(4).mean, 1.1, 1e-3);
  EXPECT_LT(surrogate.posterior(1).deviation, 0.01);
  EXPECT_GT(surrogate.posterior(3).deviation, 0.03);
}

// One observation y of variance v at a point whose own variance is k, expected 0: mean k/(k+v) · y, variance k v/(k+v)
// (Rasmussen and Williams, equations 2.25 and 2.26 for n = 1).
TEST(Surrogate, WorkedExampleOfOneObservation) {
  const std::vector<PricedCandidate> alone{priced_entry("fp32", 1, 1)};
  const double k = std::pow(Surrogate(points_of(alone, Objective::kThroughput)).posterior(0).deviation, 2);
  const Posterior posterior = taught(alone, {{0, 0.5, k}}).posterior(0);
  EXPECT_NEAR(posterior.mean, 0.25, 1e-9);
  EXPECT_NEAR(posterior.deviation, std::sqrt(k / 2), 1e-9);
}

TEST(Surrogate, ALayoutTriedWithOneVariantTellsAboutTheOther) {
  // Batch 16 does twice the rows of batch 1 with fp32; int8 was tried at batch 1 alone.
  const Surrogate surrogate = taught(six(), {{0, 0.0, 1e-4}, {2, std::log(2.0), 1e-4}, {3, 1.0, 1e-4}});
  EXPECT_GT(surrogate.posterior(5).mean, 1.0 + 0.5 * std::log(2.0));
  EXPECT_LT(surrogate.posterior(5).mean, 1.0 + 1.1 * std::log(2.0));
}

TEST(Surrogate, TheLimitIsExpectedBeforeAnythingIsMeasured) {
  std::vector<PricedCandidate> entries{priced_entry("fp32", 2, 1, 100), priced_entry("int8", 2, 1, 400)};
  const Surrogate surrogate = taught(entries, {});
  EXPECT_GT(surrogate.posterior(1).mean, surrogate.posterior(0).mean + 0.5 * std::log(4.0));
}

TEST(Surrogate, TheOrderOfObservationsDoesNotMatter) {
  const Surrogate one = taught(six(), {{0, 0.1, 1e-3}, {4, 0.9, 2e-3}, {2, 0.3, 1e-3}});
  const Surrogate other = taught(six(), {{2, 0.3, 1e-3}, {0, 0.1, 1e-3}, {4, 0.9, 2e-3}});
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(one.posterior(i).mean, other.posterior(i).mean, 1e-9);
    EXPECT_NEAR(one.posterior(i).deviation, other.posterior(i).deviation, 1e-9);
  }
}

// Standard normal: φ(0) = 0.3989; Φ(1) + φ(1) = 0.8413 + 0.2420.
TEST(ExpectedImprovement, WorkedExamples) {
  EXPECT_NEAR(expected_improvement({2, 1}, 2), 0.3989, 1e-4);
  EXPECT_NEAR(expected_improvement({3, 1}, 2), 1.0833, 1e-4);
  EXPECT_NEAR(expected_improvement({1.5, 0}, 1), 0.5, 1e-12);
  EXPECT_EQ(expected_improvement({0.5, 0}, 1), 0);
}

TEST(ProbabilityAbove, WorkedExamples) {
  EXPECT_NEAR(probability_above({1, 1}, 0), 0.8413, 1e-4);
  EXPECT_NEAR(probability_above({0, 2}, 0), 0.5, 1e-12);
  EXPECT_EQ(probability_above({1, 0}, 2), 0);
}

}  // namespace
}  // namespace ridge::tune
