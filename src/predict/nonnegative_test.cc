#include "predict/nonnegative.h"

#include <gtest/gtest.h>

namespace ridge::predict {
namespace {

std::vector<Observation> from(const std::vector<double>& truth, const std::vector<std::vector<double>>& rows) {
  std::vector<Observation> observations;
  for (const std::vector<double>& row : rows) {
    Observation o{row, 0, 1};
    for (size_t i = 0; i < row.size(); ++i) o.value += truth[i] * row[i];
    observations.push_back(o);
  }
  return observations;
}

const std::vector<std::vector<double>> kRows = {{1, 2, 0}, {1, 0, 3}, {1, 5, 1}, {1, 1, 1}, {1, 4, 9}};

TEST(NonnegativeFit, FindsTheCoefficientsThatMadeTheValues) {
  const std::vector<double> truth = {0.5, 2, 3};
  const std::vector<double> found =
      nonnegative_fit(from(truth, kRows), std::vector<double>(3, 0), std::vector<double>(3, 0));
  for (size_t i = 0; i < truth.size(); ++i) EXPECT_NEAR(found[i], truth[i], 1e-6);
}

// Worked by hand: y = 2 − x at x = 0, 1, 2 with terms {1, x} gives a slope of −1; without it the mean of 2, 1, 0 remains.
TEST(NonnegativeFit, LeavesOutATermThatWouldHaveToBeNegative) {
  const std::vector<Observation> falling = {{{1, 0}, 2, 1}, {{1, 1}, 1, 1}, {{1, 2}, 0, 1}};
  const std::vector<double> found = nonnegative_fit(falling, std::vector<double>(2, 0), std::vector<double>(2, 0));
  EXPECT_NEAR(found[0], 1, 1e-9);
  EXPECT_EQ(found[1], 0);
}

TEST(NonnegativeFit, KeepsThePriorOfATermThatNoObservationHas) {
  std::vector<Observation> observations = from({0.5, 2, 0}, {{1, 2, 0}, {1, 5, 0}, {1, 1, 0}});
  const std::vector<double> prior = {0, 0, 1.5}, pull(3, 1e-9);
  EXPECT_NEAR(nonnegative_fit(observations, prior, pull)[2], 1.5, 1e-9);
}

TEST(NonnegativeFit, AnObservationCountsByItsWeight) {
  const std::vector<Observation> two = {{{1}, 10, 3}, {{1}, 20, 1}};
  EXPECT_NEAR(nonnegative_fit(two, std::vector<double>{0}, std::vector<double>{0})[0], 12.5, 1e-9);
}

}  // namespace
}  // namespace ridge::predict
