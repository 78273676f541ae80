// Converts the management libraries' terms of a PCIe link to one form.
#pragma once

#include <cstdint>
#include <string>

namespace ridge::gpu {

// "0000:3b:00.0", as in /sys/bus/pci/devices.
std::string pci_address(uint64_t domain, uint64_t bus, uint64_t device, uint64_t function);

// Generation whose lanes make at most that many transfers per second: PCI Express Base Specification 6.0, 1.2: 2.5, 5,
// 8, 16, 32 and 64 GT/s are generations 1 to 6. 16e9 → 4; 0: slower than any.
int64_t pcie_generation(double transfers_per_s);
// The inverse: 4 → 16e9 per lane; 0: unknown generation.
double pcie_transfers_per_s(int64_t generation);

}  // namespace ridge::gpu
