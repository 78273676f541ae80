#include "tune/figures.h"

#include <algorithm>
#include <cmath>

namespace ridge::tune {
namespace {

// Interval of the weighted mean of two independent values: the distances to their ends add in squares (propagation of
// errors). A side that one does not know is not known.
measure::Interval merged(double value, const measure::Interval& all, double other, const measure::Interval& more,
                         double newer) {
  if (newer >= 1) return more;
  const double centre = value + newer * (other - value);
  const auto away = [&](double a, double b) { return std::hypot((1 - newer) * (a - value), newer * (b - other)); };
  measure::Interval interval;
  if (all.low && more.low) interval.low = std::max(0.0, centre - away(*all.low, *more.low));
  if (all.high && more.high) interval.high = centre + away(*all.high, *more.high);
  return interval;
}

}  // namespace

void merge(Figures& all, const Figures& more, double newer) {
  all.p50_ci95_ms = merged(all.p50_ms, all.p50_ci95_ms, more.p50_ms, more.p50_ci95_ms, newer);
  all.p99_ci95_ms = merged(all.p99_ms, all.p99_ci95_ms, more.p99_ms, more.p99_ci95_ms, newer);
  for (double Figures::*member : {&Figures::rows_per_s, &Figures::p50_ms, &Figures::p99_ms, &Figures::joules_per_row})
    all.*member += newer * (more.*member - all.*member);
  all.samples += more.samples;
}

void scale_times(Figures& figures, double p50_factor, double p99_factor) {
  figures.p50_ms *= p50_factor;
  figures.p99_ms *= p99_factor;
  figures.p50_ci95_ms = measure::scaled(figures.p50_ci95_ms, p50_factor);
  figures.p99_ci95_ms = measure::scaled(figures.p99_ci95_ms, p99_factor);
}

}  // namespace ridge::tune
