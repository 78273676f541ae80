// The origin of limits, for display.
#include <algorithm>

#include "cost/costs.h"

namespace ridge::cost {

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
  const bool own = own_rate(limits, precision) > 0;
  const bool both = measured("DRAM") && measured(precision_name(own ? precision : Precision::kFp32));
  return both ? Origin::kMeasured : Origin::kDatasheet;
}

}  // namespace ridge::cost
