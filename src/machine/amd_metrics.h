// amdgpu's binary table gpu_metrics: the figures that no other file has.
// Source: Linux 6.16, drivers/gpu/drm/amd/include/kgd_pp_interface.h, struct gpu_metrics_v1_3 to v1_8.
#pragma once

#include <string_view>

#include "gpu/reading.h"

namespace ridge::machine {

struct AmdMetrics {
  gpu::Reading<int64_t> energy_mj;      // since the driver started
  gpu::Reading<int64_t> slowdown_bits;  // gpu/slowdown.h
};

// Reads two copies of the table, as hexadecimal digits, the second some milliseconds later: older GPUs report what
// slows them down now, newer ones count how often each limit lowered the clock; limits whose count grew are active now.
AmdMetrics amd_metrics(std::string_view before, std::string_view after);

}  // namespace ridge::machine
