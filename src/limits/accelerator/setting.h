// A device's identity and settings: measured figures hold only for these. Another driver compiles and schedules
// differently, a power limit lowers clocks, error correction costs bandwidth, a slice of a GPU has less of everything.
//
// Locked clocks are not included: no library reports them. They show while the GPU is measured (limits/metric_result.h,
// GpuConditions), and users of such figures say so. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fields.h"
#include "base/result.h"
#include "gpu/device.h"
#include "gpu/gpu.h"

namespace ridge::limits::accelerator {

// Raise when kernels or method change and older figures are no longer comparable.
constexpr int64_t kGpuMethod = 1;

struct Setting {
  std::string gpu;            // UUID, else PCI address; empty: the device has neither
  std::string name;           // of a slice with its profile: "… MIG 3g.40gb"
  std::string driver;         // "580.95.05, CUDA driver 13.0"; of OpenCL the implementation
  int64_t compute_units = 0;  // 0: not reported
  std::optional<int64_t> power_limit_mw;
  std::optional<bool> ecc;
  int64_t method = kGpuMethod;
  bool operator==(const Setting&) const = default;
};
void visit_fields(auto& visit, Is<Setting> auto& setting) {
  visit("card", setting.gpu);
  visit("name", setting.name);
  visit("driver", setting.driver);
  visit("compute_units", setting.compute_units);
  visit("power_limit_mw", setting.power_limit_mw);
  visit("ecc", setting.ecc);
  visit("method", setting.method);
}

// `system`: from the management library; null: unknown.
Setting setting_of(const gpu::DeviceFacts& facts, const gpu::GpuSystem* system);
// The current one, from NVML where the device has an address.
Setting setting_now(const gpu::DeviceFacts& facts);

// "driver 580.95.05 then, 590.10 now; power limit 700 W then, 350 W now"; empty: they are the same.
std::string differences(const Setting& then, const Setting& now);

// "driver 580.95.05, power limit 700 W, ECC on"
std::string describe(const Setting& setting);

}  // namespace ridge::limits::accelerator
