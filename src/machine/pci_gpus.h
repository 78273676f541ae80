// GPUs and other accelerators on the PCI bus, of every vendor, with or without a driver, from /sys
// alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/tree.h"

namespace ridge::machine {

enum class GpuVendor { kNvidia, kAmd, kIntel };
std::string_view vendor_name(GpuVendor vendor);  // "NVIDIA"

struct PciGpu {
  std::string address;  // "0000:3b:00.0"
  GpuVendor vendor = GpuVendor::kNvidia;
  std::string id;             // "10de:2330"
  std::string driver;         // bound to it: "nvidia", "amdgpu", "vfio-pci", …; empty: none
  bool display_only = false;  // integrated graphics of a CPU or board, not an accelerator
  std::optional<int64_t> numa_node;
  // [lanes] and [GT/s] per lane; absent: not reported (integrated, or a virtual machine)
  std::optional<int64_t> width, width_max;
  std::optional<double> speed, speed_max;
};

std::vector<PciGpu> pci_gpus(const Tree& tree);

// One direction of a link [bytes/s]: lanes × transfers × coding (8b/10b up to 5 GT/s, 128b/130b above; PCIe Base
// Specification 6.0, 1.2). PCIe 4.0 x16: 16 × 16 GT/s × 128/130 / 8 = 31.5 GB/s.
double link_bytes_per_s(int64_t lanes, double gigatransfers_per_s);
// Rate of the link of the device in this folder ("sys/class/nvme/nvme0/device/"), as it runs; absent: not reported.
std::optional<double> link_bytes_per_s_at(const Tree& tree, const std::string& folder);

}  // namespace ridge::machine
