#include "measure/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

namespace ridge::measure {
namespace {

int shift_of(int64_t value_ns) {
  const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(value_ns, 0))));
  return std::max(0, bits - 1 - kHistogramBits);
}

double middle_ms(int64_t from_ns) {
  return (static_cast<double>(from_ns) + static_cast<double>(bucket_width(from_ns) - 1) / 2) / 1e6;
}

// A kept file may hold lists of different lengths.
size_t buckets_in(const Histogram& histogram) { return std::min(histogram.from_ns.size(), histogram.counts.size()); }

}  // namespace

int64_t bucket_of(int64_t value_ns) {
  const int shift = shift_of(value_ns);
  return std::max<int64_t>(value_ns, 0) >> shift << shift;
}

int64_t bucket_width(int64_t from_ns) { return int64_t{1} << shift_of(from_ns); }

Histogram histogram_of(std::span<const double> values_ms) {
  std::map<int64_t, int64_t> counts;
  for (const double value : values_ms) ++counts[bucket_of(std::llround(value * 1e6))];
  Histogram histogram;
  for (const auto& [from, count] : counts) {
    histogram.from_ns.push_back(from);
    histogram.counts.push_back(count);
  }
  return histogram;
}

int64_t samples_in(const Histogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), int64_t{0});
}

double percentile_of(const Histogram& histogram, double percent) {
  const double rank = percent / 100 * static_cast<double>(samples_in(histogram) - 1);
  double before = 0;
  for (size_t i = 0; i < buckets_in(histogram); ++i) {
    const auto count = static_cast<double>(histogram.counts[i]);
    const bool last = i + 1 == buckets_in(histogram);
    if (rank < before + count || last) {
      const double share = std::clamp((rank - before + 0.5) / count, 0.0, 1.0);
      return (static_cast<double>(histogram.from_ns[i]) +
              share * static_cast<double>(bucket_width(histogram.from_ns[i]) - 1)) /
             1e6;
    }
    before += count;
  }
  return 0;
}

double mean_of(const Histogram& histogram) {
  double sum = 0;
  for (size_t i = 0; i < buckets_in(histogram); ++i)
    sum += middle_ms(histogram.from_ns[i]) * static_cast<double>(histogram.counts[i]);
  return histogram.counts.empty() ? 0 : sum / static_cast<double>(samples_in(histogram));
}

double deviation_of(const Histogram& histogram) {
  const int64_t samples = samples_in(histogram);
  if (samples < 2) return 0;
  const double mean = mean_of(histogram);
  double squares = 0;
  for (size_t i = 0; i < buckets_in(histogram); ++i)
    squares += std::pow(middle_ms(histogram.from_ns[i]) - mean, 2) * static_cast<double>(histogram.counts[i]);
  return std::sqrt(squares / static_cast<double>(samples - 1));
}

}  // namespace ridge::measure
