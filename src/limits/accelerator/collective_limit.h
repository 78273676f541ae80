// What several GPUs of one machine can exchange at most when they do a collective operation together, by how they are joined; and
// what of it is usual. Pure.
//
// Rates are "bus bandwidths" (NCCL tests, doc/PERFORMANCE.md): the rate of the operation (its bytes over its time) times a factor that
// makes it that of the busiest direction of each GPU's links in a ring, so that it is comparable with what these carry, for any number
// of GPUs. Where data need not go in a ring (trees; switches that reduce) the limit is higher, and derived from what must go over each
// link at least.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "gpu/gpu.h"
#include "gpu/nccl/nccl.h"

namespace ridge::limits::accelerator {

// All-reduce 2 (n - 1) / n, all-gather and reduce-scatter (n - 1) / n, broadcast 1.
double bus_factor(gpu::nccl::Collective collective, size_t gpus);

// How a GPU of the group is joined to others.
struct JoinedGpu {
  int capability = 0;       // 80 is 8.0
  std::string pci_address;  // as gpu::GPU has it
  std::vector<gpu::PeerLink> links;
  int64_t pcie_generation = 0, pcie_lanes = 0;  // at most; 0: not known
};

// Ways between the GPUs of a group.
struct GroupLinks {
  std::vector<double>
      nvlink_bytes_per_s;  // of each GPU, one direction, to others of the group or to a switch that they share
  std::vector<double> pcie_bytes_per_s;  // of each GPU, one direction; 0: not known
  std::vector<size_t> part;  // GPUs with the same number are joined by NVLink, by others of theirs if need be
  size_t parts = 0;
  bool by_switch = false;       // all links lead to switches
  bool switch_reduces = false;  // which can also reduce: from compute capability 9.0 on
  std::string text;             // "NVLink by switch, 450 GB/s of each GPU", "PCIe 4.0 x16"
};
void visit_fields(auto& visit, Is<GroupLinks> auto& links) {
  visit("text", links.text);
  visit("nvlink_bytes_per_s", links.nvlink_bytes_per_s);
  visit("pcie_bytes_per_s", links.pcie_bytes_per_s);
  visit("parts", links.parts);
  visit("by_switch", links.by_switch);
  visit("switch_reduces", links.switch_reduces);
}
// `all`: PCI addresses of the machine's GPUs. What has another address is a switch; virtual machines may hide it.
GroupLinks links_of(std::span<const JoinedGpu> gpus, const std::set<std::string>& all);

// The highest bus bandwidth that the links allow, whatever the algorithm. kUnavailable: the links are not known.
// Four A100 joined to each other by four links of 25 GB/s each: 300 GB/s.
Result<double> bus_limit(const GroupLinks& links, gpu::nccl::Collective collective);

// The part of what the links carry that programs see, as NVIDIA's developers say it.
struct UsualShare {
  double bytes_per_s = 0;  // of bus bandwidth
  std::string said;        // "about 80 % of NVLink's line rate (NVIDIA/nccl#1054)"
};
void visit_fields(auto& visit, Is<UsualShare> auto& usual) {
  visit("bus_bytes_per_s", usual.bytes_per_s);
  visit("said", usual.said);
}
UsualShare usual_bus_bandwidth(const GroupLinks& links, gpu::nccl::Collective collective);

enum class Normality { kNormal, kLow, kFarTooLow };
NameTable<Normality> names_of(Normality);
std::string_view normality_name(Normality normality);  // "normal", "low", "far too low"
// From 90 % of what is usual on; below 60 % of it.
Normality normality_of(double bytes_per_s, double usual_bytes_per_s);

}  // namespace ridge::limits::accelerator
