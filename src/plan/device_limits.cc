#include "plan/device_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "hw/nvidia_card.h"

namespace ridge::plan {

Result<cost::DeviceLimits> limits_of(const Device& device, const std::map<std::string, std::string>& engine_options) {
  if (!is_nvidia(device))
    return Error{Code::kUnsupported, "the limits of device " + device_name(device) + " are not known"};
  RIDGE_ASSIGN(const hw::CatalogueDevice card, hw::nvidia_card(device.index));
  RIDGE_ASSIGN(cost::DeviceLimits limits, cost::limits_of(card));
  const auto tf32 = engine_options.find("cuda.use_tf32");
  if (tf32 == engine_options.end() || (tf32->second != "0" && tf32->second != "false" && tf32->second != "False"))
    allow_tf32(limits);
  return limits;
}

void allow_tf32(cost::DeviceLimits& limits) {
  const auto rate_at = [&](Precision precision) {
    return std::find_if(limits.flops_per_s.begin(), limits.flops_per_s.end(),
                        [&](const auto& peak) { return peak.first == precision; });
  };
  const auto fp32 = rate_at(Precision::kFp32), tf32 = rate_at(Precision::kTf32);
  if (fp32 == limits.flops_per_s.end() || tf32 == limits.flops_per_s.end() || tf32->second <= fp32->second) return;
  limits.remarks.push_back(
      {Precision::kFp32, fmt::format("{} multiplies FP32 at {}, and at {} as TF32, which the engine may use unless "
                                     "--engine-option cuda.use_tf32=0 is given; the bound takes the second",
                                     limits.device, format_flops_rate(fp32->second), format_flops_rate(tf32->second))});
  fp32->second = tf32->second;
}

}  // namespace ridge::plan
