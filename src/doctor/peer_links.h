// Judges the direct links between GPUs (NVLink): those that are down, and those with errors. Pure.
#pragma once

#include <vector>

#include "doctor/gpu_checks.h"

namespace ridge::doctor {

// `all`: the GPUs of the machine, to compare with others of the same name.
Finding judge_peer_links(const GpuOfVendor& known, const std::vector<gpu::Gpu>& all);

}  // namespace ridge::doctor
