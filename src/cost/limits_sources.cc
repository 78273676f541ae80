// The origin of limits, for display.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "cost/costs.h"

namespace ridge::cost {

namespace {

// The measurement with as many threads, else with the most of fewer, else with the fewest.
const auto* measured_with(const auto& all, int threads, auto is_of) {
  const typename std::decay_t<decltype(all)>::value_type* best = nullptr;
  for (const auto& one : all) {
    if (!is_of(one)) continue;
    const bool closer =
        best == nullptr ||
        (one.threads <= threads ? best->threads > threads || one.threads > best->threads : one.threads < best->threads);
    if (closer) best = &one;
  }
  return best;
}

}  // namespace

std::vector<DeviceLimits::Source> sources_of(const machine::Machine& machine, const DeviceLimits& limits) {
  std::vector<DeviceLimits::Source> sources;
  const auto add = [&](std::string what, double per_s, const auto* measured) {
    if (measured && per_s > 0)
      sources.push_back({std::move(what), per_s, measured->origin, measured->spread_percent, measured->kernel});
  };
  for (const auto& [precision, rate] : limits.flops_per_s)
    add(std::string(precision_name(precision)), rate,
        measured_with(machine.peaks, limits.threads,
                      [&](const machine::Peak& peak) { return peak.precision == precision; }));
  for (const DeviceLimits::Level& level : limits.levels)
    add(level.name, level.bytes_per_s,
        measured_with(machine.bandwidths, limits.threads,
                      [&](const machine::Bandwidth& bandwidth) { return bandwidth.level == level.name; }));
  return sources;
}

const DeviceLimits::Source* source_of(const DeviceLimits& limits, std::string_view what) {
  const auto found =
      std::find_if(limits.sources.begin(), limits.sources.end(), [&](const auto& one) { return one.what == what; });
  return found == limits.sources.end() ? nullptr : &*found;
}

Origin origin_at(const DeviceLimits& limits, Precision precision) {
  if (limits.sources.empty()) return limits.origin;
  auto measured = [&](std::string_view what) {
    const DeviceLimits::Source* source = source_of(limits, what);
    return source && source->origin == Origin::kMeasured;
  };
  // Without a known rate, memory alone bounds; without such units, FP32's rate does.
  if (std::find(limits.unknown.begin(), limits.unknown.end(), precision) != limits.unknown.end())
    return measured("DRAM") ? Origin::kMeasured : Origin::kDatasheet;
  const bool both = measured("DRAM") && measured(precision_name(rate_of(limits, precision).peak));
  return both ? Origin::kMeasured : Origin::kDatasheet;
}

}  // namespace ridge::cost
