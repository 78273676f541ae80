#include "tune/replay.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "measure/statistics.h"

namespace ridge::tune {
namespace {

// Four values with the mean of the recorded gain and its recorded interval: mean ± d has a standard deviation of d ·
// √(4/3), a half-width of t(0.975, 3) · d · √(4/3) / 2.
std::vector<double> four_pairs(const Gain& gain) {
  const double centre = std::log(gain.ratio);
  const bool known = gain.low > 0 && std::isfinite(gain.high);
  const double half = known ? (std::log(gain.high) - std::log(gain.low)) / 2 : 0;
  const double d = half / (measure::student_t(0.975, 3) * std::sqrt(4.0 / 3) / 2);
  return {centre + d, centre - d, centre + d, centre - d};
}

}  // namespace

RecordedGrid grid_of(const std::vector<Standing>& points) {
  RecordedGrid grid;
  for (const Standing& point : points) {
    PricedCandidate entry = point.entry;
    entry.candidate = point.candidate;
    grid.space.entries.push_back(entry);
    Outcome outcome = point.outcome;
    outcome.gains = four_pairs(point.gain);
    const double untuned = outcome.candidate.rows_per_s / point.gain.ratio;
    outcome.baseline = {.rows_per_s = untuned, .p50_ms = 1e3 / untuned, .p99_ms = 1e3 / untuned};
    outcome.candidate.samples = std::max<int64_t>(outcome.candidate.samples, 1);
    grid.outcomes.push_back(std::move(outcome));
  }
  return grid;
}

Replay replay(const RecordedGrid& grid) {
  Replay result;
  result.points = grid.space.entries.size();
  Search search(grid.space, Goal{});
  auto index_of = [&](const Candidate& candidate) {
    const auto& entries = grid.space.entries;
    auto at = std::find_if(entries.begin(), entries.end(),
                           [&](const PricedCandidate& e) { return e.candidate == candidate; });
    return static_cast<size_t>(at - entries.begin());
  };
  while (std::optional<Probe> probe = search.next(0))
    search.report(probe->candidate, grid.outcomes[index_of(probe->candidate)]);
  double best = -HUGE_VAL, chosen = -HUGE_VAL;
  for (size_t i = 0; i < grid.outcomes.size(); ++i) {
    const double gain = measure::mean(grid.outcomes[i].gains);
    if (gain > best) best = gain, result.best = grid.space.entries[i].candidate;
  }
  if (std::optional<Standing> found = search.best()) {
    result.chosen = found->candidate;
    chosen = measure::mean(grid.outcomes[index_of(found->candidate)].gains);
  }
  result.measured = search.measured().size();
  result.quality = std::exp(chosen - best);
  result.share = result.points > 0 ? static_cast<double>(result.measured) / static_cast<double>(result.points) : 0;
  return result;
}

}  // namespace ridge::tune
