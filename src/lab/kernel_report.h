// What NVIDIA's compiler gives to each kernel of the lab, and how many of its warps a multiprocessor then holds: known without a
// card. Pure but for the compiler, which is passed in.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gpu/nvrtc.h"
#include "hw/capability.h"
#include "lab/occupancy.h"

namespace ridge::lab {

struct KernelReport {
  std::string experiment;
  gpu::CudaKernelUse use;
  int threads = 0;  // per block, as the experiment starts it; the most of several
  Occupancy occupancy;
};

// Of all experiments, or those of these names, for one capability. Errors: an unknown name, a capability that the compiler
// or the table of limits does not know, a kernel that does not compile.
Result<std::vector<KernelReport>> kernel_reports(const gpu::Nvrtc& compiler, const hw::Capability& capability,
                                                 const std::vector<std::string>& names);

Json to_json(const KernelReport& report);

}  // namespace ridge::lab
