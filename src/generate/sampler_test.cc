#include "generate/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "generate/row_kernels.h"

namespace ridge::generate {
namespace {

std::vector<float> random_row(uint64_t seed, size_t size, double spread) {
  std::vector<float> row(size);
  for (size_t i = 0; i < size; ++i) {
    double sum = -6;  // of twelve uniform numbers: about normal
    for (uint64_t j = 0; j < 12; ++j) sum += uniform(seed, i * 12 + j);
    row[i] = static_cast<float>(spread * sum);
  }
  return row;
}

// Chances of the tokens, by the definitions, in 64 bits and with a full sort.
std::vector<double> chances_by_definition(const std::vector<float>& row, const Sampling& sampling) {
  std::vector<double> chances(row.size());
  const double largest = *std::ranges::max_element(row);
  for (size_t i = 0; i < row.size(); ++i) chances[i] = std::exp((row[i] - largest) / sampling.temperature);
  for (double& chance : chances) chance = chance < sampling.min_p ? 0 : chance;
  std::vector<size_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return row[a] > row[b]; });
  if (sampling.top_k > 0) {
    for (size_t i = sampling.top_k; i < order.size(); ++i) chances[order[i]] = 0;
  }
  const double wanted = sampling.top_p * std::accumulate(chances.begin(), chances.end(), 0.0);
  double sum = 0;
  for (const size_t token : order) {
    if (sum >= wanted) {
      chances[token] = 0;
    } else {
      sum += chances[token];
    }
  }
  for (double& chance : chances) chance /= sum;
  return chances;
}

std::vector<Sampling> several_samplings() {
  std::vector<Sampling> all(7);
  all[0].temperature = 0.7;
  all[1].top_k = 5;
  all[2].top_p = 0.6;
  all[3].min_p = 0.2;
  all[4] = {.temperature = 1.5, .top_p = 0.9, .top_k = 9};
  all[5] = {.temperature = 0.5, .top_p = 0.95, .min_p = 0.05};
  all[6] = {.temperature = 2, .top_p = 0.3, .top_k = 12, .min_p = 0.01};
  return all;
}

TEST(Sampler, DrawsByTheChancesOfTheDefinitions) {
  const std::vector<float> row = random_row(3, 20, 1.5);
  for (Sampling sampling : several_samplings()) {
    SCOPED_TRACE(testing::Message() << sampling.temperature << " " << sampling.top_p << " " << sampling.top_k << " "
                                    << sampling.min_p);
    sampling.seed = 11;
    const std::vector<double> chances = chances_by_definition(row, sampling);
    constexpr int kDraws = 20000;
    std::vector<int> times(row.size());
    Sampler sampler;
    for (uint64_t index = 0; index < kDraws; ++index)
      ++times[sampler.draw({row, sampling, nullptr, nullptr, {}, index})];
    double chi_squared = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      if (chances[i] <= 0) {
        EXPECT_EQ(times[i], 0) << "token " << i;
        continue;
      }
      const double expected = chances[i] * kDraws;
      chi_squared += (times[i] - expected) * (times[i] - expected) / expected;
    }
    EXPECT_LT(chi_squared, 43.8);  // 19 degrees of freedom, 0.1 %
  }
}

// The same chance gives the token at which the sum of the definitions' chances, in the order of the tokens, passes it.
TEST(Sampler, FindsTheNucleusOfALargeVocabularyWithoutASort) {
  for (const double spread : {0.02, 1.0, 4.0}) {
    const std::vector<float> row = random_row(5, 30000, spread);
    for (Sampling sampling : several_samplings()) {
      SCOPED_TRACE(testing::Message() << spread << ": " << sampling.temperature << " " << sampling.top_p << " "
                                      << sampling.top_k);
      const std::vector<double> chances = chances_by_definition(row, sampling);
      Sampler sampler;
      for (uint64_t index = 0; index < 50; ++index) {
        const int32_t token = sampler.draw({row, sampling, nullptr, nullptr, {}, index});
        EXPECT_GT(chances[token], 0);
        const double before = std::accumulate(chances.begin(), chances.begin() + token, 0.0);
        EXPECT_NEAR(uniform(sampling.seed, index), before + chances[token] / 2, chances[token] / 2 + 2e-6);
      }
    }
  }
}

TEST(Sampler, OfEqualWeightsTheNucleusHasTheFirst) {
  const std::vector<float> row(100, 1.0F);
  Sampling sampling;
  sampling.top_p = 0.1;
  Sampler sampler;
  for (uint64_t index = 0; index < 200; ++index)
    EXPECT_LT(sampler.draw({row, sampling, nullptr, nullptr, {}, index}), 10);
}

TEST(Sampler, TakesTheMostLikelyAtTemperatureZero) {
  std::vector<float> row = random_row(1, 1000, 2);
  row[700] = row[300] = 50;
  Sampling sampling;
  sampling.temperature = 0;
  EXPECT_EQ(Sampler().draw({row, sampling}), 300);
  for (const size_t place : {0UL, 15UL, 255UL, 256UL, 991UL, 992UL, 999UL}) {
    row[place] = 60;
    EXPECT_EQ(Sampler().draw({row, sampling}), static_cast<int32_t>(place));
    row[place] = 0;
  }
}

TEST(Sampler, DrawDependsOnSeedAndIndexOnly) {
  const std::vector<float> row = random_row(2, 500, 1);
  Sampling sampling;
  sampling.seed = 5;
  Sampler fresh, used;
  for (uint64_t i = 0; i < 50; ++i)
    used.draw({random_row(i, 700, 1), Sampling{.temperature = 2, .seed = i}, nullptr, nullptr, {}, i});
  bool differs = false;
  for (uint64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(fresh.draw({row, sampling, nullptr, nullptr, {}, i}),
              used.draw({row, sampling, nullptr, nullptr, {}, i}));
    differs |= fresh.draw({row, Sampling{.seed = 6}, nullptr, nullptr, {}, i}) !=
               fresh.draw({row, sampling, nullptr, nullptr, {}, i});
  }
  EXPECT_TRUE(differs);
}

TEST(Sampler, PenaltiesAreThoseOfTheirDefinitions) {
  TokenCounts counts;
  counts.add_prompt(std::vector<int32_t>{3});
  for (int i = 0; i < 3; ++i) counts.add(0);
  counts.add(1);
  // Logits after: 0 → 4 − 3 · frequency − presence, 1 → 3 − frequency − presence; 3 only stands in the prompt.
  const std::vector<float> row = {4, 3, 2.2F, 2.1F};
  const auto likeliest = [&](Sampling sampling) {
    sampling.temperature = 0;
    return Sampler().draw({row, sampling, &counts});
  };
  EXPECT_EQ(likeliest({.frequency_penalty = 0.49}), 0);
  EXPECT_EQ(likeliest({.frequency_penalty = 0.51}), 1);
  EXPECT_EQ(likeliest({.presence_penalty = 1.79}), 0);
  EXPECT_EQ(likeliest({.presence_penalty = 1.81}), 2);
  EXPECT_EQ(likeliest({.repetition_penalty = 1.8}), 0);
  EXPECT_EQ(likeliest({.repetition_penalty = 1.9}), 2);  // of the prompt's tokens too: 3 falls to 1.1
  // A negative logit becomes more so.
  const std::vector<float> negative = {-1, -1.5F, -3, -3};
  EXPECT_EQ(Sampler().draw({negative, Sampling{.temperature = 0, .repetition_penalty = 1.4}, &counts}), 0);
  TokenCounts one;
  one.add(0);
  EXPECT_EQ(Sampler().draw({negative, Sampling{.temperature = 0, .repetition_penalty = 1.6}, &one}), 1);
}

TEST(Sampler, BiasForbiddenTokensAndFiltersChangeTheDrawButNotTheChances) {
  class NotFour : public TokenFilter {
   public:
    void mask(std::span<float> logits) override { logits[4] = -std::numeric_limits<float>::infinity(); }
    void accept(int32_t) override {}
  };
  const std::vector<float> row = {0, 1, 2, 3, 4};
  Sampling sampling;
  sampling.temperature = 0;
  EXPECT_EQ(Sampler().draw({row, sampling}), 4);
  NotFour filter;
  EXPECT_EQ(Sampler().draw({row, sampling, nullptr, &filter}), 3);
  const std::vector<int32_t> forbidden = {3, 99};
  EXPECT_EQ(Sampler().draw({row, sampling, nullptr, &filter, forbidden}), 2);
  sampling.logit_bias = {{0, 2.5F}, {99, 100.0F}};
  EXPECT_EQ(Sampler().draw({row, sampling, nullptr, &filter, forbidden}), 0);
  EXPECT_EQ(row, (std::vector<float>{0, 1, 2, 3, 4}));
}

TEST(Sampler, RefusesParametersOutOfRangeByName) {
  const auto message = [](const Sampling& sampling) {
    const Status status = check(sampling);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(message({}), "");
  EXPECT_THAT(message({.temperature = -0.1}), testing::HasSubstr("temperature"));
  EXPECT_THAT(message({.temperature = NAN}), testing::HasSubstr("temperature"));
  EXPECT_THAT(message({.top_p = 0}), testing::HasSubstr("top_p"));
  EXPECT_THAT(message({.top_k = -1}), testing::HasSubstr("top_k"));
  EXPECT_THAT(message({.min_p = 1.5}), testing::HasSubstr("min_p"));
  EXPECT_THAT(message({.presence_penalty = 3}), testing::HasSubstr("presence_penalty"));
  EXPECT_THAT(message({.frequency_penalty = -3}), testing::HasSubstr("frequency_penalty"));
  EXPECT_THAT(message({.repetition_penalty = 0}), testing::HasSubstr("repetition_penalty"));
  EXPECT_THAT(message({.logit_bias = {{-1, 1.0F}}}), testing::HasSubstr("logit_bias"));
}

TEST(LogProbs, AreTheLogarithmOfTheSoftmax) {
  for (const size_t size : {1UL, 7UL, 16UL, 5000UL}) {
    const std::vector<float> row = random_row(9, size, 3);
    double sum = 0;
    for (const float logit : row) sum += std::exp(static_cast<double>(logit));
    const LogProbs chances(row);
    for (size_t i = 0; i < size; ++i) EXPECT_NEAR(chances.of(static_cast<int32_t>(i)), row[i] - std::log(sum), 2e-5);
    std::vector<int32_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return row[a] > row[b]; });
    const auto likely = chances.most_likely(5);
    ASSERT_EQ(likely.size(), std::min<size_t>(size, 5));
    for (size_t i = 0; i < likely.size(); ++i) EXPECT_EQ(likely[i].token, order[i]);
  }
}

TEST(RowKernels, ExponentialsAreWithinThreePartsInTenMillion) {
  std::vector<float> row;
  for (int i = 0; i <= 100000; ++i) row.push_back(static_cast<float>(-95.0 * i / 100000));
  std::vector<float> weights(row.size());
  const double sum = exponentials(row, 0, 1, weights);
  double expected = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    const double exact = std::exp(static_cast<double>(row[i]));
    expected += exact;
    if (row[i] < -87) {
      EXPECT_EQ(weights[i], 0);
    } else {
      EXPECT_NEAR(weights[i], exact, 3e-7 * exact) << row[i];
    }
  }
  EXPECT_NEAR(sum, expected, 1e-6 * expected);
  EXPECT_EQ(sum_of_exponentials(row, 0, 1), sum);
  const std::vector<float> masked = {-std::numeric_limits<float>::infinity(), 0};
  EXPECT_EQ(sum_of_exponentials(masked, 0, 1), 1);
}

}  // namespace
}  // namespace ridge::generate
