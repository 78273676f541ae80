// GPUs of AMD and Intel as their kernel drivers (amdgpu, i915, xe) describe them in files: those of the PCI device, its hwmon and
// drm folders, and the DRM lines of /proc/*/fdinfo. No library of a vendor is needed, and none can hang this process.
//
// Pure: a recorded Tree is all it sees.
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

// What a Tree needs for kernel_gpus(): patterns of files below the root.
std::vector<std::string> kernel_gpu_files();

// In a Tree: what machine/gpu_looks.h and machine/pci_names.h give.
inline constexpr const char* kGpuLooks = "tools/gpu_looks";
inline constexpr const char* kPciNames = "tools/pci_names";

// The GPUs of one vendor that a driver of the kernel has, by PCI address; integrated graphics are left out. A driver that hung while
// its files were read is a failure of its GPUs.
std::vector<gpu::Gpu> kernel_gpus(const Tree& tree, GpuVendor vendor);

// The release of the kernel, and of amdgpu's own where it was installed apart from the kernel.
gpu::Reading<std::string> kernel_driver_version(const Tree& tree, GpuVendor vendor);

}  // namespace ridge::machine
