#include "measure/measurement.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace ridge::measure {

Undisturbed undisturbed(const Measurement& m) {
  const Latency& l = m.latency_ms;
  const bool fastest = l.p50 > 2 * l.min;
  Undisturbed estimate{fastest ? "fastest" : "median", fastest ? l.min : l.p50, m.throughput_per_s, m.percent_of_limit};
  if (estimate.latency_ms <= 0) return estimate;
  const double faster = l.mean / estimate.latency_ms;
  estimate.throughput_per_s *= faster;
  estimate.percent_of_limit *= faster;
  return estimate;
}

Json to_json(const Measurement& measurement) { return json_of(measurement); }

void set_beside_limit(Measurement& m, const cost::Costs& costs, const cost::DeviceLimits& one,
                      const cost::DeviceLimits& all, double quota_factor) {
  const cost::Bound bound = cost::bound(costs, one);
  m.bound_ms = bound.ms;
  m.limiter = bound.limiter;
  m.arithmetic = cost::arithmetic_of(costs, one);
  std::set<Precision> used;
  for (const cost::BoundShare& arithmetic : m.arithmetic) used.insert(arithmetic.precision);
  m.limit_notes = cost::notes(one, used);
  const double runs_per_s = m.throughput_per_s / static_cast<double>(std::max<int64_t>(m.batch, 1));
  m.percent_of_limit = 100 * runs_per_s * cost::bound(costs, all).ms / 1e3 / quota_factor;
}

}  // namespace ridge::measure
