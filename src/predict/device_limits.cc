#include "predict/device_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/parameter.h"

namespace ridge::predict {

namespace {

std::string tf32_condition() {
  return fmt::format("which the engine may use without --engine-option {}=0", engine::kUseTf32);
}

// FP32 has the limit of TF32, with its source.
void take_tf32(cost::DeviceLimits& limits) {
  const cost::DeviceLimits::Source* tf32 = cost::source_of(limits, precision_name(Precision::kTf32));
  if (tf32 == nullptr) return;
  cost::DeviceLimits::Source taken = *tf32;
  taken.what = precision_name(Precision::kFp32);
  taken.by = taken.by.empty() ? "as TF32" : "as TF32, " + taken.by;
  std::erase_if(limits.sources, [&](const auto& one) { return one.what == taken.what; });
  limits.sources.insert(limits.sources.begin(), std::move(taken));
}

}  // namespace

Result<cost::DeviceLimits> limits_of(const plan::Device& device,
                                     const std::map<std::string, std::string>& engine_options) {
  if (!plan::is_nvidia(device))
    return Error{Code::kUnsupported, "the limits of device " + plan::device_name(device) + " are not known"};
  RIDGE_ASSIGN(const limits::NvidiaGpu gpu, limits::nvidia_gpu(device.index));
  return limits_of(gpu, engine_options);
}

Result<cost::DeviceLimits> limits_of(const limits::NvidiaGpu& gpu,
                                     const std::map<std::string, std::string>& engine_options,
                                     cost::Accumulate accumulate) {
  RIDGE_ASSIGN(cost::DeviceLimits limits, cost::limits_of(gpu, accumulate));
  if (engine::is_on(engine_options, engine::kUseTf32, true)) allow_tf32(limits);
  return limits;
}

void allow_tf32(cost::DeviceLimits& limits) {
  const double fp32 = cost::own_rate(limits, Precision::kFp32), tf32 = cost::own_rate(limits, Precision::kTf32);
  if (std::ranges::find(limits.unknown, Precision::kTf32) != limits.unknown.end()) {
    limits.remarks.push_back({Precision::kFp32, fmt::format("{} has units for TF32 of unknown rate, {}: so FP32 is not "
                                                            "bounded",
                                                            limits.device, tf32_condition())});
    std::erase_if(limits.flops_per_s, [](const auto& peak) { return peak.first == Precision::kFp32; });
    limits.unknown.push_back(Precision::kFp32);
    return;
  }
  if (fp32 <= 0 || tf32 <= fp32) return;
  limits.remarks.push_back(
      {Precision::kFp32,
       fmt::format("{} multiplies FP32 at {}, and at {} as TF32, {}; the bound takes the second", limits.device,
                   format_flops_rate(fp32), format_flops_rate(tf32), tf32_condition())});
  for (auto& [precision, rate] : limits.flops_per_s)
    if (precision == Precision::kFp32) rate = tf32;
  take_tf32(limits);
}

}  // namespace ridge::predict
