// Limits and usual rates of collective operations over the links between the GPUs of one machine. Pure.
//
// Rates are "bus bandwidths" (NCCL tests, doc/PERFORMANCE.md): the rate of the operation (bytes over time) times a
// factor that makes it the rate of the busiest direction of each GPU's links in a ring. This is comparable with the
// link rates for any number of GPUs. Without a ring (trees; reducing switches) the limit is higher, and derived from
// the least traffic over each link.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/gpu.h"

namespace ridge::doctor {

// By what moves how often over the links. Reduce counts as broadcast, all-to-all as all-gather.
enum class Collective { kAllReduce, kAllGather, kReduceScatter, kBroadcast };

// All-reduce 2 (n - 1) / n, all-gather and reduce-scatter (n - 1) / n, broadcast 1.
double bus_factor(Collective collective, size_t gpus);

// Connections between the GPUs of a group.
struct GroupLinks {
  std::vector<double> nvlink_bytes_per_s;  // per GPU, one direction, to others of the group or to a shared switch
  std::vector<double> pcie_bytes_per_s;    // per GPU, one direction; 0: not known
  std::vector<size_t> part;                // GPUs with the same number are joined by NVLink, directly or through others
  size_t parts = 0;
  bool by_switch = false;       // all links lead to switches
  bool switch_reduces = false;  // these can also reduce: from compute capability 9.0 on
  std::string text;             // "NVLink by switch, 450 GB/s of each GPU", "PCIe 4.0 x16"
};
// `all`: PCI addresses of the machine's GPUs. What has another address is a switch; virtual machines may hide it.
GroupLinks links_of(std::span<const gpu::Gpu> gpus, const std::set<std::string>& all);

// The highest bus bandwidth that the links allow with any algorithm. kUnavailable: the links are not known. Four A100
// joined to each other by four links of 25 GB/s each: 300 GB/s.
Result<double> bus_limit(const GroupLinks& links, Collective collective);

// The part of the link rate that programs reach, according to NVIDIA's developers.
struct UsualShare {
  double bytes_per_s = 0;  // of bus bandwidth
  std::string said;        // "about 80 % of NVLink's line rate (NVIDIA/nccl#1054)"
};
UsualShare usual_bus_bandwidth(const GroupLinks& links, Collective collective);

}  // namespace ridge::doctor
