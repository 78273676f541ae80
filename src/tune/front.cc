#include "tune/front.h"

#include <algorithm>

namespace ridge::tune {
namespace {

// True if it is at least as good in every respect, and better in one.
bool beats(const Standing& a, const Standing& b) {
  const Figures &x = a.outcome.candidate, &y = b.outcome.candidate;
  const bool no_worse = x.rows_per_s >= y.rows_per_s && x.p99_ms <= y.p99_ms &&
                        a.entry.memory_bytes <= b.entry.memory_bytes && x.joules_per_row <= y.joules_per_row;
  const bool better = x.rows_per_s > y.rows_per_s || x.p99_ms < y.p99_ms ||
                      a.entry.memory_bytes < b.entry.memory_bytes || x.joules_per_row < y.joules_per_row;
  return no_worse && better;
}

}  // namespace

Standing at_speed(Standing standing, double untuned_rows_per_s) {
  const double beside = standing.outcome.baseline.rows_per_s;
  if (beside <= 0 || untuned_rows_per_s <= 0) return standing;
  Figures& figures = standing.outcome.candidate;
  figures.rows_per_s = standing.rate.ratio * untuned_rows_per_s;
  scale_times(figures, beside / untuned_rows_per_s, beside / untuned_rows_per_s);
  standing.outcome.baseline.rows_per_s = untuned_rows_per_s;
  return standing;
}

std::vector<Standing> pareto_front(const std::vector<Standing>& points, const Candidate& chosen) {
  std::vector<Standing> front;
  for (const Standing& a : points) {
    const bool beaten = std::any_of(points.begin(), points.end(), [&](const Standing& b) { return beats(b, a); });
    if (!beaten || a.candidate == chosen) front.push_back(a);
  }
  std::sort(front.begin(), front.end(), [](const Standing& a, const Standing& b) {
    return a.outcome.candidate.rows_per_s > b.outcome.candidate.rows_per_s;
  });
  return front;
}

}  // namespace ridge::tune
