// Compares a device's figures with their references: its datasheet, the best measured here, the CPU's own measured
// limit where OpenCL runs on it, and the rate of its PCIe link. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "catalogue/catalogue.h"
#include "limits/accelerator/device_measurement.h"
#include "machine/machine.h"

namespace ridge::limits::accelerator {

struct References {
  std::optional<catalogue::CatalogueDevice> datasheet;
  std::string datasheet_reason;            // why there is none
  std::optional<machine::Machine> cpu;     // measured; of a device that is this machine's CPU
  std::string cpu_reason;                  // why there is none, though it is one
  std::optional<double> link_bytes_per_s;  // each way
  std::string link;                        // "PCIe 4.0 x16", or why it is not known
};

// The catalogue's device for `facts`: by its name, compute capability, multiprocessors, memory (within 12 %: usable
// against nominal) and, where that leaves several, clock (within 2 %).
Result<catalogue::CatalogueDevice> datasheet_of(std::span<const catalogue::CatalogueDevice> devices,
                                                const gpu::DeviceFacts& facts);

// The datasheet's figure for a peak reached in this way; absent where it refers to other units: it lists the plain
// lanes for FP64 and FP32, and for narrower types the tensor cores, if the device has any. FP64 of tensor cores is
// derived (data/tensor_rates.csv).
std::optional<catalogue::CataloguePeak> datasheet_peak(const catalogue::CatalogueDevice& device, Precision precision,
                                                       std::string_view way);

// 100 · value / reference. One H100 PCIe reads 1.90 TB/s of 2.04: 93.1 %.
Utilisation utilisation_of(std::string of, double value, double reference, Origin origin);

// One direction [bytes/s] of a PCIe link; PCI Express Base Specification 6.0, 1.2. Generation 4, 16 lanes: 31.5 GB/s.
std::optional<double> pcie_bytes_per_s(int64_t generation, int64_t lanes);

void add_utilisation(DeviceMeasurement& measured, const References& references);

}  // namespace ridge::limits::accelerator
