// What a device is and how it is set: what was measured of it holds for this alone. Another driver compiles and schedules
// otherwise, a power limit lowers clocks, error correction takes bandwidth, a slice of a divided GPU has less of everything.
//
// Locked clocks are not in it: no library tells which are locked. They are seen while the GPU is measured (limits/metric_result.h, GpuConditions), and
// who uses such figures says so. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "gpu/device.h"
#include "gpu/gpu.h"

namespace ridge::limits::accelerator {

// Raise when kernels or method change so that figures of before cannot be compared.
constexpr int64_t kGpuMethod = 1;

struct Setting {
  std::string gpu;            // UUID, else PCI address; empty: the device has neither
  std::string name;           // of a slice with its profile: "… MIG 3g.40gb"
  std::string driver;         // "580.95.05, CUDA driver 13.0"; of OpenCL the implementation
  int64_t compute_units = 0;  // 0: not told
  std::optional<int64_t> power_limit_mw;
  std::optional<bool> ecc;
  int64_t method = kGpuMethod;
  bool operator==(const Setting&) const = default;
};
Json to_json(const Setting& setting);
Result<Setting> setting_from_json(const Json& json);

// `system`: as the management library tells it; null: unknown.
Setting setting_of(const gpu::DeviceFacts& facts, const gpu::GpuSystem* system);
// That of now, by NVML where the device has an address that it may know.
Setting setting_now(const gpu::DeviceFacts& facts);

// "driver 580.95.05 then, 590.10 now; power limit 700 W then, 350 W now"; empty: they are the same.
std::string differences(const Setting& then, const Setting& now);

// "driver 580.95.05, power limit 700 W, ECC on"
std::string describe(const Setting& setting);

}  // namespace ridge::limits::accelerator
