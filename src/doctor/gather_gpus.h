// Gathers the GPUs of every vendor, without judging: NVIDIA's from its management library, AMD's and Intel's from the
// kernel's files. A driver that hangs does not hang the caller.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "gpu/gpu.h"
#include "machine/pci_gpus.h"
#include "machine/tree.h"

namespace ridge::doctor {

// Queries the library and reads the files, each in a child with this time limit. `root` is the prefix of /sys and
// /proc. Call it while the process has one thread. The entries are those of the doctor's facts (facts.h).
machine::Tree gather_gpus(Nanoseconds limit, const std::string& root);

struct VendorsSystem {
  machine::GpuVendor vendor = machine::GpuVendor::kNvidia;
  std::string library;  // or kernel driver: "NVML"
  Result<gpu::GpuSystem> system;
};
// The GPUs in a tree, NVIDIA first. Pure.
std::vector<VendorsSystem> gpus_in(const machine::Tree& tree);

}  // namespace ridge::doctor
