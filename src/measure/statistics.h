// Statistics of latencies: pure functions of numbers.
//
// Percentile: linear interpolation between the two nearest ranks, rank = p/100 · (n − 1) from 0 (Hyndman and Fan,
// "Sample Quantiles in Statistical Packages", 1996, definition 7; numpy's default).
#pragma once

#include <span>

#include "measure/measurement.h"

namespace ridge::measure {

constexpr double kIntervalConfidence = 0.95;  // of the intervals that are shown
constexpr int kBatches = 10;                  // stretches of time whose means tell how far neighbours are correlated

double mean(std::span<const double> values);                // 0 if empty
double standard_deviation(std::span<const double> values);  // of the sample: n − 1; 0 for fewer than two
double percentile(std::span<const double> sorted, double percent);
double median(std::span<const double> values);

// The value that a Student t variable of `degrees` degrees of freedom stays below with `probability` (0.5 … 1).
double student_t(double probability, double degrees);

// Half-width of the confidence interval of the mean of independent values; infinite for fewer than two.
double half_width(std::span<const double> values, double confidence);

// Difference between the means of two groups of independent values (Welch's test, which does not take their variances
// as equal): `after` minus `before`, and the half-width of its interval; infinite for fewer than two values.
struct MeanDifference {
  double value = 0, half_width = 0;
};
MeanDifference mean_difference(std::span<const double> before, std::span<const double> after, double confidence);

// half_width() for values in order of time that need not be independent: the wider of the interval that takes them as
// independent and the one from the means of `batches` equal stretches (method of batch means: Law and Kelton,
// "Simulation Modeling and Analysis", 9.5.3). Neighbouring latencies are correlated, which the first alone would
// mistake for certainty.
double half_width_in_time(std::span<const double> values, double confidence, int batches = kBatches);

// The 95 % interval of the mean of independent rates, which are never below 0; empty for fewer than two.
Interval mean_rate_interval(std::span<const double> rates);

// Interval of a closed loop's rate: callers over the mean latency, whose half-width is given. Empty: not known.
Interval rate_interval(double rate_per_s, double half_width_percent);

// half_width_in_time() as a share of the mean [%]; infinite if unknown.
double half_width_percent(std::span<const double> values, double confidence);

Latency latency_of(std::span<const double> values_ms);

// The interval of a percentile of values in order of time: between two order statistics, whose ranks follow from the
// binomial distribution (David and Nagaraja, "Order Statistics", 7.1), whatever the values' own. Correlated values
// count as the number of independent ones that would know the share below the percentile as well, by batch means of
// that share. A side is absent where it would lie beyond all values.
Interval percentile_interval(std::span<const double> values, double percent, double confidence = kIntervalConfidence,
                             int batches = kBatches);
PercentileIntervals percentile_intervals(std::span<const double> values_ms);

}  // namespace ridge::measure
