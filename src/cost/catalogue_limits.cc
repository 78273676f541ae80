// A device of the catalogue as a roofline.
#include <fmt/format.h>

#include <limits>

#include "cost/costs.h"

namespace ridge::cost {
namespace {

double rate(const catalogue::CatalogueDevice& device, Precision arithmetic) {
  auto peak = catalogue::peak(device, arithmetic);
  return peak ? peak->flops_per_s : 0;
}

// The slowdown of the tensor cores when they accumulate in FP32 instead of FP16: 0.5 on GeForce RTX 20 to 50, else 1.
// data/gpus.csv has both rates for FP16; FP8 follows in proportion (RTX 4090: 660.6 and 330.3, Ada whitepaper).
double fp32_accumulate_share(const catalogue::CatalogueDevice& device) {
  double any = rate(device, Precision::kFp16), fp32 = rate(device, Precision::kFp16Fp32);
  return any > 0 && fp32 > 0 ? fp32 / any : 1;
}

void add_peaks(const catalogue::CatalogueDevice& device, Accumulate accumulate, DeviceLimits& limits) {
  double share = accumulate == Accumulate::kFp32 ? fp32_accumulate_share(device) : 1;
  auto add = [&](Precision precision, double flops_per_s) {
    if (flops_per_s > 0) limits.flops_per_s.emplace_back(precision, flops_per_s);
  };
  double fp32 = rate(device, Precision::kFp32);
  add(Precision::kFp64, rate(device, Precision::kFp64));
  add(Precision::kFp32, fp32);
  add(Precision::kTf32, rate(device, Precision::kTf32));
  // Pascal's GeForce has FP16 at 1/64 of FP32: engines convert and compute in FP32 there.
  if (double fp16 = rate(device, Precision::kFp16) * share; fp16 >= fp32) add(Precision::kFp16, fp16);
  add(Precision::kBf16, rate(device, Precision::kBf16));
  add(Precision::kFp8, rate(device, Precision::kFp8) * share);
  add(Precision::kInt8, rate(device, Precision::kInt8));
}

void add_remarks(const catalogue::CatalogueDevice& device, Accumulate accumulate, DeviceLimits& limits) {
  double share = fp32_accumulate_share(device);
  if (share >= 1) return;
  for (auto [precision, arithmetic] :
       {std::pair(Precision::kFp16, Precision::kFp16), {Precision::kFp8, Precision::kFp8}}) {
    double any = rate(device, arithmetic);
    if (any <= 0) continue;
    std::string rates =
        fmt::format("{} multiplies {} at {} with FP16 accumulators and at {} with FP32 accumulators (datasheet)",
                    device.name, precision_name(precision), format_flops_rate(any), format_flops_rate(any * share));
    limits.remarks.push_back({precision, accumulate == Accumulate::kAny
                                             ? rates + "; the bound takes the first, most engines use the second"
                                             : rates + "; the second is used, as in most engines"});
  }
}

}  // namespace

Result<DeviceLimits> limits_of(const catalogue::CatalogueDevice& device, Accumulate accumulate) {
  DeviceLimits limits;
  limits.device = device.name;
  limits.origin = Origin::kDatasheet;
  add_peaks(device, accumulate, limits);
  add_remarks(device, accumulate, limits);
  auto missing = [&](std::string_view what) {
    return Error{Code::kUnavailable,
                 fmt::format("the catalogue has no sourced {} of {}, so nothing bounds it; 'ridge gpus \"{}\"' shows "
                             "what is known",
                             what, device.name, device.name)};
  };
  if (limits.flops_per_s.empty()) return missing("arithmetic peak");
  if (!device.bytes_per_s) return missing("memory bandwidth");
  if (device.l2_bytes) limits.levels.push_back({.name = "L2", .bytes_per_s = 0, .capacity_bytes = *device.l2_bytes});
  limits.levels.push_back(
      {.name = "DRAM", .bytes_per_s = *device.bytes_per_s, .capacity_bytes = std::numeric_limits<double>::infinity()});
  return limits;
}

}  // namespace ridge::cost
