#include "tune/share/proof.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "measure/resident.h"
#include "measure/statistics.h"

namespace ridge::tune::share {
namespace {

constexpr double kProvingRuns = 200;  // a 99th percentile of fewer runs depends on a single run
constexpr double kFewestRuns = 10;
// Share of the requested rows: random arrivals of 200 runs differ from their mean by 7 % (1/√200), in both alike.
constexpr double kDone = 0.8;

// Rates of the members with a load.
std::vector<std::optional<double>> runs_per_s(std::span<const CoLocatedModel> members, const Partition& partition) {
  std::vector<std::optional<double>> loads;
  for (size_t i = 0; i < members.size(); ++i) {
    loads.push_back(members[i].goal.rows_per_s);
    if (loads.back()) *loads.back() /= static_cast<double>(partition[i].batch);
  }
  return loads;
}

double proof_seconds(const std::vector<std::optional<double>>& loads, const BenchmarkOptions& options) {
  double seconds = 1;
  for (const std::optional<double>& load : loads)
    if (load) seconds = std::max(seconds, kProvingRuns / *load);
  return std::min(seconds, std::max(1.0, options.seconds / 4));
}

AtLoad at_load(double runs_per_s, const Candidate& candidate, const ModelSlice& slice) {
  const double rows_per_s = runs_per_s * static_cast<double>(candidate.batch);
  const double fill_ms = 1e3 * static_cast<double>(candidate.batch - 1) / rows_per_s;
  measure::Interval run_ms = measure::percentile_interval(slice.latencies_ms, 99);
  for (std::optional<double>* side : {&run_ms.low, &run_ms.high})
    if (*side) **side += fill_ms;
  return {rows_per_s, slice.rows_per_s, fill_ms + measure::latency_of(slice.latencies_ms).p99,
          static_cast<int64_t>(slice.latencies_ms.size()), run_ms};
}

}  // namespace

Result<Proof> prove(std::span<const BenchmarkedModel> models, std::span<const CoLocatedModel> members,
                    const Partition& partition, const BenchmarkOptions& options, Clock& clock) {
  RIDGE_ASSIGN(CoLocatedModels opened, open_models(models, partition, options.seed, clock));
  RIDGE_TRY(opened.run_slice(to_ms(options.slice), options.interrupted));
  Proof proof;
  proof.at_load.resize(members.size());
  std::vector<std::optional<double>> loads = runs_per_s(members, partition);
  const double seconds = proof_seconds(loads, options);
  for (std::optional<double>& load : loads)
    if (load) load = std::max(*load, kFewestRuns / seconds);
  if (std::any_of(loads.begin(), loads.end(), [](const auto& load) { return load.has_value(); })) {
    RIDGE_ASSIGN(const std::vector<ModelSlice> slices,
                 opened.run_at_loads(loads, seconds, options.seed, options.interrupted));
    for (size_t i = 0; i < members.size(); ++i)
      if (loads[i]) proof.at_load[i] = at_load(*loads[i], partition[i], slices[i]);
  }
  proof.resident_bytes = measure::settled_resident_bytes();
  return proof;
}

std::string refuted(const Proof& proof, std::span<const CoLocatedModel> members) {
  for (size_t i = 0; i < members.size(); ++i) {
    const std::optional<AtLoad>& seen = proof.at_load[i];
    const std::optional<double>& goal = members[i].goal.p99_ms;
    if (!seen) continue;
    if (seen->done_per_s < kDone * seen->asked_per_s)
      return fmt::format("at the loads {} reaches {} of {} (measured)", members[i].name,
                         format_row_rate(seen->done_per_s), format_row_rate(seen->asked_per_s));
    if (goal && seen->request_p99_ms > *goal)
      return fmt::format("at the loads a request of {} has a p99 of {}, above {} (measured)", members[i].name,
                         format_ms(seen->request_p99_ms), format_ms(*goal));
  }
  return "";
}

}  // namespace ridge::tune::share
