#include "predict/device_estimate.h"

#include <fmt/format.h>

#include <algorithm>

namespace ridge::predict {

Result<DeviceEstimate> estimate_on(const catalogue::CatalogueDevice& device, const cost::Costs& costs,
                                   Precision precision, int64_t rows) {
  Result<cost::DeviceLimits> limits = cost::limits_of(device, cost::Accumulate::kFp32);
  if (!limits) return limits.error();
  return estimate_on(device, *limits, costs, precision, rows);
}

Result<DeviceEstimate> estimate_on(const catalogue::CatalogueDevice& device, const cost::DeviceLimits& limits,
                                   const cost::Costs& costs, Precision precision, int64_t rows) {
  if (cost::rate_of(limits, precision).flops_per_s <= 0)
    return Error{Code::kInvalid, fmt::format("no {} rate of {} has a source", precision_name(precision), device.name)};
  const CarriedOver efficiency = carried_over(device, precision);
  const std::vector<cost::Bound> layers = layer_bounds(costs, limits);
  DeviceEstimate estimate{
      .ms = predicted_ms(layers, efficiency), .held = held_by(layers, efficiency), .evidence = efficiency.evidence};
  if (!limits.sources.empty() && cost::origin_at(limits, precision) == Origin::kMeasured)
    estimate.evidence.push_back("those are shares of datasheets; here they are applied to measured limits");
  if (const double bound = cost::bound(costs, limits).ms; estimate.ms.fast < bound) {
    for (double* ms : {&estimate.ms.slow, &estimate.ms.likely, &estimate.ms.fast}) *ms = std::max(*ms, bound);
    estimate.evidence.emplace_back("the bound is taken where these shares would be faster");
  }
  if (estimate.ms.likely > 0) {
    estimate.throughput_per_s = 1e3 * static_cast<double>(rows) / estimate.ms.likely;
    estimate.error_percent =
        100 * std::max(estimate.ms.slow / estimate.ms.likely - 1, 1 - estimate.ms.fast / estimate.ms.likely);
  }
  return estimate;
}

}  // namespace ridge::predict
