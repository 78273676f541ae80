#include "tune/turns.h"

#include <algorithm>
#include <cmath>

#include "measure/statistics.h"

namespace ridge::tune {
namespace {

constexpr double kLongestUntunedSliceMs = 250;
constexpr double kSeveralRuns = 2.5;
constexpr double kSeveralSlowRuns = 1.5;

}  // namespace

Extent extent_of(Effort effort) {
  switch (effort) {
    case Effort::kShort: return {4, 2, 1.0 / 20};
    case Effort::kLong: return {8, 3, 1.0 / 8};
    case Effort::kConfirm: break;
  }
  return {16, 4, 1.0 / 4};
}

double slice_ms(double run_ms, int callers, double least_ms) {
  const double runs = callers == 1 ? 1 : run_ms < kSlowRunMs ? kSeveralRuns : kSeveralSlowRuns;
  return std::max(least_ms, runs * run_ms);
}

double untuned_slice_ms(double own_ms, double least_ms) {
  return std::clamp(own_ms, least_ms, std::max(least_ms, kLongestUntunedSliceMs));
}

Side side_of(measure::Runner& runner, std::span<const double> latencies_ms, double rows_per_s,
             const measure::Stages& sums_ms) {
  Side side;
  const double runs = std::max(1.0, static_cast<double>(latencies_ms.size()));
  side.latency_ms = measure::latency_of(latencies_ms);
  side.rows_per_s = rows_per_s;
  const double half = measure::half_width_in_time(latencies_ms, 0.95);
  side.ci95_percent = std::isfinite(half) && side.latency_ms.mean > 0 ? 100 * half / side.latency_ms.mean : 100;
  side.samples = static_cast<int64_t>(latencies_ms.size());
  side.stages_ms = {runner.load_ms(), runner.first_run_ms(), sums_ms.input / runs, sums_ms.compute / runs,
                    sums_ms.output / runs};
  const engine::Info& info = runner.session(0).info();
  side.engine = info.name;
  side.engine_version = info.version;
  side.device = info.device;
  side.threads = info.threads;
  side.rss_delta_bytes = runner.rss_delta_bytes();
  return side;
}

}  // namespace ridge::tune
