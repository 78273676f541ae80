// Histogram: the distribution of a tensor's values, in one pass and in fixed memory.
//
// Bins of equal width lie on both sides of zero. A value beyond the last bin doubles the width and merges neighbouring
// bins, as often as needed; so more than half of the bins on the wider side are in use, unless the first values were
// the largest. NaN and infinity are counted separately.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ridge::precision {

class Histogram {
 public:
  static constexpr size_t kBins = 4096;  // on each side: at least the 2048 used bins of the published entropy method

  void add(std::span<const float> values);
  bool empty() const { return total_ == 0; }
  double minimum() const { return minimum_; }  // of the finite values
  double maximum() const { return maximum_; }
  int64_t total() const { return total_; }  // finite values
  int64_t not_finite() const { return not_finite_; }

  // The value below which that share of all values lies, 0 … 1: linear in a bin, within minimum and maximum.
  double quantile(double share) const;
  // Absolute values in `bins` bins of equal width from 0 to the largest; bins that do not divide evenly are split in
  // proportion.
  std::vector<double> magnitudes(size_t bins) const;

 private:
  void widen(double largest);
  double width_ = 0;                    // of a bin; 0 until the first nonzero value
  std::vector<int64_t> above_, below_;  // [0, width), [width, 2·width) …; below_ mirrored, without 0
  int64_t zeros_ = 0;                   // exactly 0
  double minimum_ = 0, maximum_ = 0;
  int64_t total_ = 0, not_finite_ = 0;
};

}  // namespace ridge::precision
