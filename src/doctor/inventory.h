// The GPUs of this machine and how they are connected: facts only, no verdicts. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/figure.h"
#include "base/units.h"
#include "gpu/gpu.h"
#include "machine/tree.h"

namespace ridge::doctor {

struct InventoryFigure {
  int64_t value = 0;
  Origin origin = Origin::kMeasured;
};
void visit_fields(auto& visit, Is<InventoryFigure> auto& figure) {
  visit("value", figure.value);
  visit("origin", figure.origin);
}

struct InventoryGpu {
  std::string vendor;  // "NVIDIA"
  gpu::Gpu gpu;
  std::optional<int64_t> numa_node;  // by /sys
  std::string cpus;                  // near the GPU, by /sys: "0-31"; empty: unknown
  // Reported by NVIDIA's driver library if it runs (measured); else the multiprocessors from the cores and the cores of
  // one (derived) and the cache from the catalogue by name (datasheet).
  std::optional<InventoryFigure> multiprocessors, l2_bytes;
};
void visit_fields(auto& visit, Is<InventoryGpu> auto& entry) {
  visit_fields(visit, entry.gpu);
  visit("maker", entry.vendor, Figure().column("vendor"));
  visit("numa_node", entry.numa_node);
  visit("processors", entry.cpus, Figure().column("near CPUs"));
  visit("multiprocessors", entry.multiprocessors);
  visit("l2_bytes", entry.l2_bytes);
}

struct Inventory {
  std::vector<InventoryGpu> gpus;
  // How GPU i reaches GPU j: "NV18" (number of NVLinks, direct or by a switch), else by PCI: "PIX" "PXB" "PHB" "NODE"
  // "SYS" (gpu/gpu.h); "X" itself; "-" unknown.
  std::vector<std::vector<std::string>> matrix;
};
void visit_fields(auto& visit, Is<Inventory> auto& inventory) {
  visit("cards", inventory.gpus);
  visit("topology", inventory.matrix);
}

Inventory inventory_of(const machine::Tree& tree);

// NVLinks between `gpu` and `other`: those that lead to it, else those of both that lead to the same switch.
int64_t links_between(const gpu::Gpu& gpu, const gpu::Gpu& other, const std::vector<InventoryGpu>& all);

}  // namespace ridge::doctor
