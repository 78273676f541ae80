// Least squares with nonnegative coefficients: the cost of each kind of work, since work never saves time. Pure.
//
// Method: cyclic coordinate descent on the normal equations, which converges to the unique minimum of this convex problem
// (Franc, Hlaváč, Navara, "Sequential coordinate-wise algorithm for the non-negative least squares problem", 2005).
#pragma once

#include <span>
#include <vector>

namespace ridge::predict {

// One observation: Σ coefficient[k] · terms[k] should be `value`, weighted by `weight`.
struct Observation {
  std::vector<double> terms;
  double value = 0;
  double weight = 1;
};

// The coefficients ≥ 0 that minimise Σ weight · (Σ c·terms − value)² + Σ pull[k] · (c[k] − prior[k])². All observations have
// prior.size() terms. `pull` (as many, ≥ 0) keeps undetermined coefficients at the prior.
std::vector<double> nonnegative_fit(std::span<const Observation> observations, std::span<const double> prior,
                                    std::span<const double> pull);

}  // namespace ridge::predict
