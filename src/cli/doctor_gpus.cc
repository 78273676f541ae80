#include "cli/doctor_gpus.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

using doctor::Inventory;
using doctor::InventoryGpu;

template <typename T>
std::string or_dash(const gpu::Reading<T>& reading) {
  return reading ? fmt::format("{}", *reading) : "-";
}

std::string memory_of(const gpu::Gpu& gpu) {
  if (!gpu.memory_total_bytes) return "-";
  std::string text = format_bytes(static_cast<double>(*gpu.memory_total_bytes));
  return gpu.memory_bus_bits ? text + fmt::format(", {} bit", *gpu.memory_bus_bits) : text;
}

// "132, 50.0 MiB L2": derived and datasheet figures are marked by ~.
std::string chip_text(const InventoryGpu& entry) {
  std::string text;
  if (entry.multiprocessors)
    text = fmt::format("{}{} SM", entry.multiprocessors->origin == Origin::kMeasured ? "" : "~",
                       entry.multiprocessors->value);
  if (entry.l2_bytes)
    text += fmt::format("{}{}{} L2", text.empty() ? "" : ", ", entry.l2_bytes->origin == Origin::kMeasured ? "" : "~",
                        format_bytes(static_cast<double>(entry.l2_bytes->value)));
  return text.empty() ? "-" : text;
}

std::string link_of(const gpu::Gpu& gpu) {
  if (!gpu.pcie_generation || !gpu.pcie_width) return "-";
  std::string text = fmt::format("{} x{}", *gpu.pcie_generation, *gpu.pcie_width);
  if (gpu.pcie_generation_max && gpu.pcie_width_max)
    text += fmt::format(" of {} x{}", *gpu.pcie_generation_max, *gpu.pcie_width_max);
  return text;
}

std::string place_text(const InventoryGpu& entry) {
  std::string text = entry.numa_node ? fmt::format("node {}", *entry.numa_node) : "";
  if (!entry.cpus.empty()) text += fmt::format("{}CPUs {}", text.empty() ? "" : ", ", entry.cpus);
  return text.empty() ? "-" : text;
}

std::string clocks_of(const gpu::Gpu& gpu) {
  if (!gpu.sm_clock_max_mhz && !gpu.memory_clock_max_mhz) return "-";
  return fmt::format("{}, {} MHz", or_dash(gpu.sm_clock_max_mhz), or_dash(gpu.memory_clock_max_mhz));
}

std::string switches_text(const gpu::Gpu& gpu) {
  auto flag = [](const gpu::Reading<bool>& reading) { return !reading ? "-" : *reading ? "on" : "off"; };
  if (!gpu.ecc && !gpu.persistence && !gpu.mig) return "-";
  return fmt::format("{}, {}, {}", flag(gpu.ecc), flag(gpu.persistence), flag(gpu.mig));
}

std::vector<std::string> inventory_row(const InventoryGpu& entry) {
  const gpu::Gpu& gpu = entry.gpu;
  std::string kind = gpu.architecture ? *gpu.architecture : "";
  if (gpu.compute_capability) kind += (kind.empty() ? "" : " ") + *gpu.compute_capability;
  return {"  " + std::to_string(gpu.index),
          gpu.name ? *gpu.name : entry.vendor + " (does not answer)",
          kind.empty() ? "-" : kind,
          chip_text(entry),
          memory_of(gpu),
          clocks_of(gpu),
          gpu.power_limit_mw ? fmt::format("{} W", *gpu.power_limit_mw / 1000) : "-",
          link_of(gpu),
          switches_text(gpu),
          place_text(entry)};
}

std::string slices_text(const Inventory& inventory) {
  std::vector<std::vector<std::string>> rows;
  for (const InventoryGpu& entry : inventory.gpus)
    for (const gpu::GpuSlice& slice : entry.gpu.slices) {
      const gpu::Reading<int64_t>& memory = slice.memory_total_bytes;
      rows.push_back({fmt::format("  {}.{}", entry.gpu.index, slice.index), or_dash(slice.name),
                      fmt::format("{}, {} for compute", or_dash(slice.gpu_slices), or_dash(slice.compute_slices)),
                      or_dash(slice.multiprocessors) + " SM", memory ? format_bytes(static_cast<double>(*memory)) : "-",
                      or_dash(slice.uuid)});
    }
  return rows.empty() ? ""
                      : table({"  MIG", "name", "slices of the chip", "chip", "memory", "UUID"}, rows, "lll2r1rl3");
}

std::string matrix_text(const Inventory& inventory) {
  std::vector<std::string> head = {"  joined"};
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < inventory.gpus.size(); ++i) {
    head.push_back(fmt::format("{}", inventory.gpus[i].gpu.index));
    rows.push_back({fmt::format("  {}", inventory.gpus[i].gpu.index)});
    rows.back().insert(rows.back().end(), inventory.matrix[i].begin(), inventory.matrix[i].end());
  }
  return table(head, rows, "l") +
         "  NVn: n NVLinks; PCI: PIX one switch, PXB several, PHB the host bridge, NODE one NUMA node, SYS between "
         "CPUs\n";
}

}  // namespace

std::string gpus_text(const Inventory& inventory) {
  if (inventory.gpus.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const InventoryGpu& entry : inventory.gpus) rows.push_back(inventory_row(entry));
  std::string text = "GPUs\n" + table({"  nr", "name", "kind", "chip", "memory", "highest clocks", "limit", "PCIe",
                                       "ECC, persistence, MIG", "near"},
                                      rows, "llll3ll4r6l5l2l1");
  text += slices_text(inventory);
  if (inventory.gpus.size() > 1) text += matrix_text(inventory);
  return text;
}

}  // namespace ridge::cli
