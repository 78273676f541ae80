#include "predict/nonnegative.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace ridge::predict {
namespace {

constexpr int kMostSweeps = 2000;
constexpr double kSettled = 1e-10;  // relative change of a coefficient in a sweep

// The quadratic form ½ cᵀ·matrix·c − vectorᵀ·c.
struct Quadratic {
  std::vector<std::vector<double>> matrix;
  std::vector<double> vector;
};

Quadratic quadratic_of(std::span<const Observation> observations, std::span<const double> prior,
                       std::span<const double> pull) {
  const size_t n = prior.size();
  Quadratic form{std::vector<std::vector<double>>(n, std::vector<double>(n, 0)), std::vector<double>(n, 0)};
  for (const Observation& observation : observations) {
    assert(observation.terms.size() == n);
    for (size_t i = 0; i < n; ++i) {
      const double scaled = observation.weight * observation.terms[i];
      form.vector[i] += scaled * observation.value;
      for (size_t j = 0; j < n; ++j) form.matrix[i][j] += scaled * observation.terms[j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    form.matrix[i][i] += pull[i];
    form.vector[i] += pull[i] * prior[i];
  }
  return form;
}

}  // namespace

std::vector<double> nonnegative_fit(std::span<const Observation> observations, std::span<const double> prior,
                                    std::span<const double> pull) {
  assert(prior.size() == pull.size());
  const Quadratic form = quadratic_of(observations, prior, pull);
  std::vector<double> fitted(prior.begin(), prior.end());
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double change = 0;
    for (size_t i = 0; i < fitted.size(); ++i) {
      if (form.matrix[i][i] <= 0) continue;  // no observation has this term: the prior stays
      double gradient = -form.vector[i];
      for (size_t j = 0; j < fitted.size(); ++j) gradient += form.matrix[i][j] * fitted[j];
      const double next = std::max(0.0, fitted[i] - gradient / form.matrix[i][i]);
      change = std::max(change, std::abs(next - fitted[i]) / (std::abs(next) + std::abs(fitted[i]) + 1e-12));
      fitted[i] = next;
    }
    if (change < kSettled) break;
  }
  return fitted;
}

}  // namespace ridge::predict
