// All samples of a measurement, counted in buckets at most 1/128 (0.8 %) of their value wide: log-linear, as
// HdrHistogram has them. A kept result is compared by them with another one. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/fields.h"

namespace ridge::measure {

constexpr int kHistogramBits = 7;  // a power of two is divided into this many times halved buckets

struct Histogram {
  // The buckets that hold samples, ascending: lower ends and counts.
  std::vector<int64_t> from_ns, counts;
};
void visit_fields(auto& visit, Is<Histogram> auto& histogram) {
  visit.derived("bits", kHistogramBits);
  visit("from_ns", histogram.from_ns, at_least(0));
  visit("counts", histogram.counts, at_least(1));
}

// Where the bucket of a value begins, and its width: 2^(⌊log2 value⌋ − 7), at least 1.
int64_t bucket_of(int64_t value_ns);
int64_t bucket_width(int64_t from_ns);

Histogram histogram_of(std::span<const double> values_ms);
int64_t samples_in(const Histogram& histogram);
// By the rank that percentile() takes (measure/statistics.h), linear within a bucket [ms]; 0 if it is empty.
double percentile_of(const Histogram& histogram, double percent);
double mean_of(const Histogram& histogram);       // [ms]
double deviation_of(const Histogram& histogram);  // standard deviation of the samples [ms]

}  // namespace ridge::measure
