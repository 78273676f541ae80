// AMD and Intel GPUs as their kernel drivers (amdgpu, i915, xe) describe them in files: those of the PCI device, its
// hwmon and drm folders, and the DRM lines of /proc/*/fdinfo. No vendor library can hang this process.
//
// Pure: reads only a recorded Tree.
// Sources, Linux 6.16: Documentation/gpu/amdgpu/{driver-misc,thermal,ras}.rst, Documentation/gpu/drm-usage-stats.rst,
// Documentation/ABI/testing/sysfs-driver-intel-{i915,xe}-hwmon, drivers/gpu/drm/xe/xe_gt_{freq,throttle}.c,
// drivers/gpu/drm/i915/gt/intel_gt_sysfs_pm.c.
#pragma once

#include <string>
#include <vector>

#include "gpu/gpu.h"
#include "machine/pci_gpus.h"
#include "machine/tree.h"

namespace ridge::machine {

// The files that kernel_gpus() needs in a Tree: patterns below the root.
std::vector<std::string> kernel_gpu_files();

// Entries of a Tree, filled by machine/gpu_counters.h and machine/pci_names.h.
inline constexpr const char* kGpuCounters = "tools/gpu_looks";
inline constexpr const char* kPciNames = "tools/pci_names";

// The GPUs of one vendor that a kernel driver is bound to, by PCI address, without integrated graphics. If a driver
// hung while its files were read, its GPUs have that failure.
std::vector<gpu::Gpu> kernel_gpus(const Tree& tree, GpuVendor vendor);

// The release of the kernel, and of amdgpu's own where it was installed apart from the kernel.
gpu::Reading<std::string> kernel_driver_version(const Tree& tree, GpuVendor vendor);

}  // namespace ridge::machine
