#include "precision/histogram.h"

#include <algorithm>
#include <cmath>

namespace ridge::precision {
namespace {

// Merges neighbouring pairs into the lower half.
void merge_pairs(std::vector<int64_t>& bins) {
  for (size_t i = 0; i < bins.size() / 2; ++i) bins[i] = bins[2 * i] + bins[2 * i + 1];
  std::fill(bins.begin() + static_cast<std::ptrdiff_t>(bins.size() / 2), bins.end(), 0);
}

}  // namespace

void Histogram::widen(double largest) {
  if (above_.empty()) {
    above_.assign(kBins, 0);
    below_.assign(kBins, 0);
  }
  // Slightly more than the largest, so that it falls into the last bin.
  if (width_ == 0) width_ = largest * (1 + 1e-9) / static_cast<double>(kBins);
  while (largest >= width_ * static_cast<double>(kBins)) {
    width_ *= 2;
    merge_pairs(above_);
    merge_pairs(below_);
  }
}

void Histogram::add(std::span<const float> values) {
  float low = HUGE_VALF, high = -HUGE_VALF;
  for (float value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) {
    not_finite_ += static_cast<int64_t>(values.size());
    return;
  }
  minimum_ = total_ == 0 ? low : std::min<double>(minimum_, low);
  maximum_ = total_ == 0 ? high : std::max<double>(maximum_, high);
  const double largest = std::max(std::abs(low), std::abs(high));
  if (largest > 0) widen(largest);
  const double scale = width_ > 0 ? 1 / width_ : 0;
  for (float value : values) {
    if (!std::isfinite(value)) {
      ++not_finite_;
      continue;
    }
    ++total_;
    if (value == 0) {
      ++zeros_;
      continue;
    }
    const size_t bin = std::min(kBins - 1, static_cast<size_t>(std::abs(static_cast<double>(value)) * scale));
    ++(value > 0 ? above_ : below_)[bin];
  }
}

double Histogram::quantile(double share) const {
  if (total_ == 0) return 0;
  const double wanted = std::clamp(share, 0.0, 1.0) * static_cast<double>(total_);
  const auto bounded = [&](double value) { return std::clamp(value, minimum_, maximum_); };
  double seen = 0;
  for (size_t i = below_.size(); i-- > 0;) {
    const auto count = static_cast<double>(below_[i]);
    if (count > 0 && seen + count >= wanted)
      return bounded(-width_ * (static_cast<double>(i) + 1 - (wanted - seen) / count));
    seen += count;
  }
  seen += static_cast<double>(zeros_);
  if (zeros_ > 0 && seen >= wanted) return bounded(0);
  for (size_t i = 0; i < above_.size(); ++i) {
    const auto count = static_cast<double>(above_[i]);
    if (count > 0 && seen + count >= wanted)
      return bounded(width_ * (static_cast<double>(i) + (wanted - seen) / count));
    seen += count;
  }
  return maximum_;
}

std::vector<double> Histogram::magnitudes(size_t bins) const {
  std::vector<double> result(bins, 0);
  const double largest = std::max(std::abs(minimum_), std::abs(maximum_));
  if (total_ == 0) return result;
  result[0] = static_cast<double>(zeros_);
  if (!(largest > 0)) return result;
  // Bin i of ours covers [i, i + 1) · width_; in units of the result's bins:
  const double unit = width_ * static_cast<double>(bins) / largest;
  for (size_t i = 0; i < above_.size(); ++i) {
    const auto count = static_cast<double>(above_[i] + below_[i]);
    if (count == 0) continue;
    const double from = static_cast<double>(i) * unit, to = from + unit;
    for (auto at = static_cast<size_t>(from); at < bins && static_cast<double>(at) < to; ++at) {
      const double inside = std::min(to, static_cast<double>(at) + 1) - std::max(from, static_cast<double>(at));
      result[at] += count * inside / unit;
    }
    // The bin of the largest value reaches beyond it; values there belong to the last bin.
    if (to > static_cast<double>(bins))
      result[bins - 1] += count * (to - std::max(from, static_cast<double>(bins))) / unit;
  }
  return result;
}

}  // namespace ridge::precision
