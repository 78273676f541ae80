// Surrogate: predicts the unmeasured candidates from the measurements so far, so that the next measurement goes where
// it can change the answer.
//
// A Gaussian process over a figure in logarithms (ln of a gain). Effects add up there: engine, variant, options, layout
// and batch each have one of their own, and pairs of them smaller ones; so a layout tried with one variant informs
// about all variants, and a variant tried once about all its layouts. The physical limit is part of the prior mean.
// Sources: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, algorithm 2.1 (prediction); Jones,
// Schonlau and Welch, "Efficient Global Optimization", 1998, equation 15 (expected improvement). Pure: no clock, no
// randomness. One thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tune/space.h"

namespace ridge::tune {

// A candidate as the process sees it: level numbers for unordered parameters, logarithms to base 2 for ordered ones.
struct Point {
  int engine = 0, variant = 0, options = 0;
  double threads = 0, instances = 0, batch = 0;
  double expected = 0;  // ln of the figure by the limit, up to a constant; the prior
};

// The posterior of ln(figure): normally distributed.
struct Posterior {
  double mean = 0;
  double deviation = 0;
};

struct Observation {
  size_t point = 0;
  double value = 0;     // ln(figure)
  double variance = 0;  // of the value as a measurement
};

// The points of entries, in their order. The prior mean is the limit where known, else the threads in use.
std::vector<Point> points_of(std::span<const PricedCandidate> entries, Objective objective);

class Surrogate {
 public:
  explicit Surrogate(std::vector<Point> points);

  // Replaces all observations. At most one per point.
  void learn(std::span<const Observation> observations);
  // Posterior of the figure itself, without measurement noise.
  Posterior posterior(size_t point) const;
  size_t size() const { return points_.size(); }

 private:
  const std::vector<double>& column(size_t point);  // covariances of all points with this one

  std::vector<Point> points_;
  std::vector<std::vector<double>> columns_;         // by point; empty until first requested
  std::vector<const std::vector<double>*> learned_;  // columns of the observed points
  std::vector<double> lower_;                        // Cholesky factor of their covariance, row by row, packed
  std::vector<double> weights_;                      // L⁻¹ (values − expectations)
};

// E[max(0, value − best)] of the posterior.
double expected_improvement(const Posterior& posterior, double best);
// P(value ≥ threshold).
double probability_above(const Posterior& posterior, double threshold);

}  // namespace ridge::tune
