// The GPUs of every vendor, apart from the doctor's judgement: NVIDIA's as its management library describes them, AMD's and Intel's as
// the kernel's files do. A driver that hangs does not hang the caller.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "gpu/gpu.h"
#include "machine/pci_gpus.h"
#include "machine/tree.h"

namespace ridge::doctor {

// Asks the library and reads the files, each in a child with this time limit. `root`
// stands before /sys and /proc. Call it while the process has one thread. The entries are those of the doctor's facts (facts.h).
machine::Tree gather_gpus(Nanoseconds limit, const std::string& root);

struct VendorsSystem {
  machine::GpuVendor vendor = machine::GpuVendor::kNvidia;
  std::string library;  // or kernel driver: "NVML"
  gpu::Reading<gpu::GpuSystem> system;
};
// What a tree holds of them, NVIDIA first. Pure.
std::vector<VendorsSystem> gpus_in(const machine::Tree& tree);

}  // namespace ridge::doctor
