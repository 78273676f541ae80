#include "tune/batching.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "tune/search.h"

namespace ridge::tune {
namespace {

// Below this gain a short measurement cannot tell batches apart, and single requests are answered sooner.
constexpr double kWorthMerging = 1.03;
constexpr double kAsGood = 0.97;  // a smaller batch with this share of the rows/s is preferred as well: it waits less
constexpr double kStillGood = 0.95;  // a larger batch with this share may be formed if the queue is long enough
// Share of a run that a request without company may wait.
constexpr double kDelayShare = 0.1;

// Weighted least squares of T(b) = fixed + per_row · b, weights 1/T², so that relative errors count: minimises Σ ((T −
// fixed − per_row b) / T)². Normal equations of two unknowns; both are at least 0.
void fit(std::span<const BatchPoint> points, BatchingAdvice& advice) {
  double ones = 0, rows = 0, squares = 0, times = 0, products = 0;  // sums over the points, each divided by T²
  for (const BatchPoint& point : points) {
    const double weight = 1 / (point.figures.p50_ms * point.figures.p50_ms), b = static_cast<double>(point.batch);
    ones += weight;
    rows += weight * b;
    squares += weight * b * b;
    times += weight * point.figures.p50_ms;
    products += weight * b * point.figures.p50_ms;
  }
  const double determinant = ones * squares - rows * rows;
  if (points.size() > 1 && determinant > 0) {
    advice.fixed_ms = (times * squares - products * rows) / determinant;
    advice.per_row_ms = (products * ones - times * rows) / determinant;
  }
  if (points.size() < 2 || advice.fixed_ms < 0) {
    advice.fixed_ms = 0;
    advice.per_row_ms = squares > 0 ? products / squares : 0;
  } else if (advice.per_row_ms < 0) {
    advice.per_row_ms = 0;
    advice.fixed_ms = times / ones;
  }
}

const BatchPoint* at(std::span<const BatchPoint> points, int64_t batch) {
  for (const BatchPoint& point : points)
    if (point.batch == batch) return &point;
  return nullptr;
}

// The fitted law's gain at the batch: (fixed + per_row) · b / (fixed + per_row · b). It uses all points, so that noise
// of two measurements does not look like a gain.
double lawful_gain(const BatchingAdvice& advice, int64_t batch) {
  const double rows = static_cast<double>(batch);
  return (advice.fixed_ms + advice.per_row_ms) * rows / (advice.fixed_ms + advice.per_row_ms * rows);
}

std::string law(const BatchingAdvice& advice) {
  if (advice.fixed_ms <= 0) return fmt::format("a run costs {} per row", format_ms(advice.per_row_ms));
  return fmt::format("a run costs {} fixed + {} per row", format_ms(advice.fixed_ms), format_ms(advice.per_row_ms));
}

// Why the batches above the chosen one are excluded, or nothing.
std::string held_back(std::span<const BatchPoint> points, int64_t chosen, std::optional<double> goal_ms) {
  for (const BatchPoint& point : points)
    if (point.batch > chosen && goal_ms && point.figures.p99_ms > *goal_ms)
      return fmt::format("; batch {} has a p99 of {}, above the goal{}", point.batch, format_ms(point.figures.p99_ms),
                         point.figures.p99_ci95_ms.includes(*goal_ms) ? ", which its 95 % interval includes" : "");
  return "";
}

// A single request's allowed delay, within the goal.
double longest_delay_ms(const BatchPoint& chosen, std::optional<double> goal_ms) {
  const double delay = kDelayShare * chosen.figures.p50_ms;
  return goal_ms ? std::clamp(*goal_ms - chosen.figures.p99_ms, 0.0, delay) : delay;
}

double half_width_ln(const BatchPoint& point) {
  const measure::Interval& known = point.rows_per_s_ci95;
  return known.low && known.high && *known.low > 0 ? std::log(*known.high / *known.low) / 2 : 0;
}

// Interval of a ratio of two rates that were measured apart.
measure::Interval ratio_interval(const BatchPoint& a, const BatchPoint& b) {
  const double ratio = a.figures.rows_per_s / b.figures.rows_per_s;
  const double factor = std::exp(std::hypot(half_width_ln(a), half_width_ln(b)));
  return {ratio / factor, ratio * factor};
}

std::string with_interval(double gain, const measure::Interval& interval) {
  return fmt::format("{:.2f}×{}", gain, ends_text({gain, interval.low.value_or(0), interval.high.value_or(0)}));
}

// The tuned batch was better than the untuned model, but batch 1 of its layout is not known.
BatchingAdvice without_comparison(const BatchPoint& chosen, std::optional<double> goal_ms) {
  BatchingAdvice advice;
  advice.max_batch = chosen.batch;
  advice.helps = chosen.batch > 1;
  advice.id = "no-batch-1";
  advice.reason = "the gain of batching is unknown: batch 1 of this layout was not measured";
  if (!advice.helps) return advice;
  advice.preferred = {chosen.batch};
  advice.queue_delay_ms = longest_delay_ms(chosen, goal_ms);
  return advice;
}

}  // namespace

BatchingAdvice advise_batching(std::span<const BatchPoint> points, int64_t chosen, std::optional<double> p99_goal_ms) {
  BatchingAdvice advice;
  advice.max_batch = chosen;
  const BatchPoint* one = at(points, 1);
  const BatchPoint* best = at(points, chosen);
  if (best == nullptr) {
    advice.id = "no-curve";
    advice.reason = "the batch curve was not measured";
    return advice;
  }
  if (one == nullptr || one->figures.rows_per_s <= 0) return without_comparison(*best, p99_goal_ms);
  fit(points, advice);
  advice.gain = best->figures.rows_per_s / one->figures.rows_per_s;
  advice.gain_ci95 = ratio_interval(*best, *one);
  auto allowed = [&](const BatchPoint& point) { return !p99_goal_ms || point.figures.p99_ms <= *p99_goal_ms; };
  for (const BatchPoint& point : points)
    if (allowed(point) && point.figures.rows_per_s >= kStillGood * best->figures.rows_per_s)
      advice.max_batch = std::max(advice.max_batch, point.batch);
  const bool significant = *advice.gain_ci95.low > 1;
  if (chosen == 1 || !significant || advice.gain < kWorthMerging || lawful_gain(advice, chosen) < kWorthMerging) {
    // The chosen batch does not gain, or its gain is within the noise, or the curve of all batches disagrees.
    const bool gains = advice.gain >= kWorthMerging;
    advice.id = gains ? "scatter" : "no-gain";
    const std::string by_batch =
        fmt::format("batch {} does {} the rows/s of batch 1", chosen, with_interval(advice.gain, advice.gain_ci95));
    advice.reason = gains        ? "the gain of batching is unknown, times scatter too much: " + by_batch
                    : chosen > 1 ? "batching gains nothing: " + by_batch
                                 : std::string("the chosen batch is 1, so requests are not merged");
    advice.reason += "; " + law(advice) + held_back(points, chosen, p99_goal_ms);
    return advice;
  }
  advice.helps = true;
  advice.id = "merge";
  for (const BatchPoint& point : points)
    if (point.batch > 1 && point.batch < chosen && point.figures.rows_per_s >= kAsGood * best->figures.rows_per_s) {
      advice.preferred.push_back(point.batch);
      break;
    }
  advice.preferred.push_back(chosen);
  advice.queue_delay_ms = std::min(advice.fixed_ms, longest_delay_ms(*best, p99_goal_ms));
  advice.reason =
      fmt::format("batches of {} do {} the rows/s of single rows; {}; a batching delay above {} does not pay{}", chosen,
                  with_interval(advice.gain, advice.gain_ci95), law(advice), format_ms(advice.queue_delay_ms),
                  held_back(points, chosen, p99_goal_ms));
  return advice;
}

std::optional<BatchingOutlook> batching_outlook(std::span<const PricedCandidate> entries) {
  const PricedCandidate* highest = nullptr;
  for (const PricedCandidate& entry : entries)
    if (entry.max_rows_per_s > 0 && (highest == nullptr || entry.max_rows_per_s > highest->max_rows_per_s))
      highest = &entry;
  if (highest == nullptr) return std::nullopt;
  Candidate alone = highest->candidate;
  alone.batch = 1;
  const auto same =
      std::find_if(entries.begin(), entries.end(), [&](const PricedCandidate& e) { return e.candidate == alone; });
  if (same == entries.end() || same->max_rows_per_s <= 0 || highest->candidate.batch == 1) return std::nullopt;
  BatchingOutlook outlook;
  outlook.limit_gain = highest->max_rows_per_s / same->max_rows_per_s;
  outlook.sentence =
      outlook.limit_gain < kWorthMerging
          ? std::string(
                "the machine's limit per row is the same at every batch: batching can only save the engine's "
                "fixed cost per run")
          : fmt::format(
                "the machine's limit is {:.2f}× the rows/s at batch {}: all rows of a run share one read of the "
                "weights",
                outlook.limit_gain, highest->candidate.batch);
  return outlook;
}

}  // namespace ridge::tune
