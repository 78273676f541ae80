#include "measure/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "measure/statistics.h"

namespace ridge::measure {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kLeastBeyond = 4;

double two_sided(double confidence, double samples) {
  return student_t((1 + confidence) / 2, std::max(1.0, samples - 1));
}

// Half-widths in logarithms.
double of_mean(const Measurement& m, double confidence) {
  const double samples = independent_samples(m);
  // Unknown is null in a kept file, and 0 when it is read back.
  if (samples < 2 || !(m.ci95_percent > 0) || !std::isfinite(m.ci95_percent)) return kInfinite;
  return m.ci95_percent / 100 * two_sided(confidence, samples) / two_sided(kIntervalConfidence, samples);
}

// The values at the ranks between which the percentile lies with `confidence` (binomial, approximated as normal).
double of_percentile(const Measurement& m, double percent, double confidence) {
  const double samples = independent_samples(m), share = percent / 100;
  if (!m.histogram || samples * std::min(share, 1 - share) < kLeastBeyond) return kInfinite;
  const double beside = two_sided(confidence, samples) * std::sqrt(share * (1 - share) / samples);
  const auto at = [&](double of) { return percentile_of(*m.histogram, 100 * std::clamp(of, 0.0, 1.0)); };
  const double low = at(share - beside), high = at(share + beside);
  return low > 0 ? std::log(high / low) / 2 : kInfinite;
}

}  // namespace

double independent_samples(const Measurement& m) {
  const auto samples = static_cast<double>(m.samples);
  if (!m.histogram || !(m.ci95_percent > 0) || m.latency_ms.mean <= 0) return samples;
  const double variation = deviation_of(*m.histogram) / m.latency_ms.mean;
  const double explained = std::pow(1.96 * variation / (m.ci95_percent / 100), 2);
  return std::clamp(explained, 1.0, std::max(1.0, samples));
}

MeanDifference mean_latency_difference(const Measurement& before, const Measurement& now, double confidence) {
  return {std::log(now.latency_ms.mean / before.latency_ms.mean),
          std::hypot(of_mean(before, confidence), of_mean(now, confidence))};
}

MeanDifference percentile_difference(const Measurement& before, const Measurement& now, double percent,
                                     double confidence) {
  if (!before.histogram || !now.histogram) return {0, kInfinite};
  return {std::log(percentile_of(*now.histogram, percent) / percentile_of(*before.histogram, percent)),
          std::hypot(of_percentile(before, percent, confidence), of_percentile(now, percent, confidence))};
}

}  // namespace ridge::measure
