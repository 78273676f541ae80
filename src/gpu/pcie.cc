#include "gpu/pcie.h"

#include <fmt/format.h>

#include <iterator>

namespace ridge::gpu {
namespace {

constexpr double kTransfersPerS[] = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};

}  // namespace

std::string pci_address(uint64_t domain, uint64_t bus, uint64_t device, uint64_t function) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

int64_t pcie_generation(double transfers_per_s) {
  int64_t generation = 0;
  for (double rate : kTransfersPerS)
    if (transfers_per_s >= rate * 0.99) ++generation;
  return generation;
}

double pcie_transfers_per_s(int64_t generation) {
  const bool known = generation >= 1 && generation <= static_cast<int64_t>(std::size(kTransfersPerS));
  return known ? kTransfersPerS[generation - 1] : 0;
}

}  // namespace ridge::gpu
