#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace ridge::measure {
namespace {

// Continued fraction of the incomplete beta function (Press et al., "Numerical Recipes", 6.4, modified Lentz).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  auto guarded = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / guarded(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m <= 300; ++m) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guarded(1 + even * d);
    c = guarded(1 + even / c);
    result *= d * c;
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guarded(1 + odd * d);
    c = guarded(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < 1e-14) break;
  }
  return result;
}

// std::lgamma writes a global sign; threads of one process compute intervals at the same time.
double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

// Regularised incomplete beta function I_x(a, b).
double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

// The means of equal stretches. The oldest values that do not fill one are left out.
std::vector<double> batch_means(std::span<const double> values, size_t length) {
  std::vector<double> means;
  for (size_t at = values.size() % length; at + length <= values.size(); at += length)
    means.push_back(mean(values.subspan(at, length)));
  return means;
}

double student_distribution(double t, double degrees) {
  return 1 - incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;  // t ≥ 0
}

// Where `holds` turns from true to false between `yes` and `no`.
double turning_point(double yes, double no, const std::function<bool(double)>& holds) {
  for (int step = 0; step < 60; ++step) {
    const double middle = (yes + no) / 2;
    (holds(middle) ? yes : no) = middle;
  }
  return yes;
}

// The number of independent values that would know the share of those below `limit` as well. By Student's t and batch
// means, as half_width_in_time().
double independent_values(std::span<const double> values, double limit, double share, double confidence, int batches) {
  std::vector<double> below;
  for (const double value : values) below.push_back(value <= limit ? 1 : 0);
  const double normal = student_t((1 + confidence) / 2, 1e6);
  const double independent = std::sqrt(share * (1 - share) / static_cast<double>(values.size()));
  const size_t length = values.size() / static_cast<size_t>(batches);
  if (length < 2) return static_cast<double>(values.size());
  const double half = half_width(batch_means(below, length), confidence) / normal;
  return static_cast<double>(values.size()) * std::min(1.0, std::pow(independent / half, 2));
}

std::vector<double> sorted_copy(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// `sorted`: the values in order.
Interval interval_of(std::span<const double> values, std::span<const double> sorted, double percent, double confidence,
                     int batches) {
  if (values.empty()) return {};
  const double share = percent / 100, tail = (1 - confidence) / 2;
  const double n = independent_values(values, percentile(sorted, percent), share, confidence, batches);
  // The probability that at least k of n independent values lie below the percentile.
  auto at_least = [&](double k) { return incomplete_beta(k, n - k + 1, share); };
  auto at_rank = [&](double rank) {
    const double last = static_cast<double>(sorted.size());
    return sorted[static_cast<size_t>(std::clamp(rank, 1.0, last)) - 1];
  };
  const double per_value = static_cast<double>(sorted.size()) / n;
  Interval interval;
  if (n >= 1 && 1 - at_least(1) <= tail)
    interval.low =
        at_rank(std::floor(per_value * turning_point(1, n, [&](double k) { return 1 - at_least(k) <= tail; }) + 1e-6));
  if (n >= 1 && at_least(n) <= tail)
    interval.high =
        at_rank(std::ceil(per_value * turning_point(n, 1, [&](double k) { return at_least(k) <= tail; }) - 1e-6));
  return interval;
}

}  // namespace

double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  double centre = mean(values);
  double sum = 0;
  for (double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double percentile(std::span<const double> sorted, double percent) {
  if (sorted.empty()) return 0;
  double rank = std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(sorted.size() - 1);
  auto below = static_cast<size_t>(rank);
  size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return percentile(sorted, 50);
}

double student_t(double probability, double degrees) {
  double low = 0, high = 1;
  while (student_distribution(high, degrees) < probability && high < 1e9) high *= 2;
  for (int step = 0; step < 80; ++step) {
    double middle = (low + high) / 2;
    (student_distribution(middle, degrees) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

double half_width(std::span<const double> values, double confidence) {
  if (values.size() < 2) return std::numeric_limits<double>::infinity();
  auto count = static_cast<double>(values.size());
  return student_t((1 + confidence) / 2, count - 1) * standard_deviation(values) / std::sqrt(count);
}

MeanDifference mean_difference(std::span<const double> before, std::span<const double> after, double confidence) {
  MeanDifference difference{mean(after) - mean(before), std::numeric_limits<double>::infinity()};
  if (before.size() < 2 || after.size() < 2) return difference;
  const auto n = static_cast<double>(before.size()), m = static_cast<double>(after.size());
  const double a = std::pow(standard_deviation(before), 2) / n, b = std::pow(standard_deviation(after), 2) / m;
  difference.half_width = 0;
  if (a + b <= 0) return difference;
  const double degrees = (a + b) * (a + b) / (a * a / (n - 1) + b * b / (m - 1));  // Welch and Satterthwaite
  difference.half_width = student_t((1 + confidence) / 2, degrees) * std::sqrt(a + b);
  return difference;
}

double half_width_in_time(std::span<const double> values, double confidence, int batches) {
  double independent = half_width(values, confidence);
  size_t length = values.size() / static_cast<size_t>(batches);
  if (length < 2) return independent;
  return std::max(independent, half_width(batch_means(values, length), confidence));
}

Interval rate_interval(double rate_per_s, double half_width_percent) {
  if (!(half_width_percent < 100)) return {};
  return {rate_per_s / (1 + half_width_percent / 100), rate_per_s / (1 - half_width_percent / 100)};
}

Interval mean_rate_interval(std::span<const double> rates) {
  if (rates.size() < 2) return {};
  const double centre = mean(rates), half = half_width(rates, kIntervalConfidence);
  return {std::max(0.0, centre - half), centre + half};
}

double half_width_percent(std::span<const double> values, double confidence) {
  const double centre = mean(values);
  if (centre <= 0) return std::numeric_limits<double>::infinity();
  return 100 * half_width_in_time(values, confidence) / centre;
}

Interval scaled(const Interval& interval, double factor) {
  const auto times = [&](std::optional<double> side) { return side ? std::optional(*side * factor) : side; };
  return {times(interval.low), times(interval.high)};
}

Latency latency_of(std::span<const double> values_ms) {
  const std::vector<double> sorted = sorted_copy(values_ms);
  if (sorted.empty()) return {};
  return {mean(sorted),           percentile(sorted, 50), percentile(sorted, 90), percentile(sorted, 95),
          percentile(sorted, 99), sorted.front(),         sorted.back()};
}

Interval percentile_interval(std::span<const double> values, double percent, double confidence, int batches) {
  return interval_of(values, sorted_copy(values), percent, confidence, batches);
}

PercentileIntervals percentile_intervals(std::span<const double> values_ms) {
  const std::vector<double> sorted = sorted_copy(values_ms);
  const auto at = [&](double percent) {
    return interval_of(values_ms, sorted, percent, kIntervalConfidence, kBatches);
  };
  return {at(50), at(90), at(95), at(99)};
}

}  // namespace ridge::measure
