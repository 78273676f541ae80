#include "doctor/group_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "base/proc_text.h"
#include "base/units.h"
#include "limits/accelerator/utilisation.h"

namespace ridge::doctor {
namespace {

using gpu::Gpu;
using limits::accelerator::pcie_bytes_per_s;

// Rate of one NVLink in one direction, as the line runs [bytes/s], by the compute capability of its GPU (80 is 8.0).
// Both directions of all links of a GPU are what data sheets give: A100, 12 links of 25 GB/s: 600 GB/s.
struct LinkRate {
  int from, to;  // compute capability
  double bytes_per_s;
};

constexpr LinkRate kLinkRates[] = {
    {60, 62, 20e9},       // Tesla P100 white paper: four links, 160 GB/s both ways
    {70, 72, 25e9},       // Tesla V100 white paper: six links, 300 GB/s
    {75, 75, 25e9},       // Turing white paper: two links, 100 GB/s
    {80, 80, 25e9},       // A100 white paper: twelve links, 600 GB/s
    {86, 86, 14.0625e9},  // GA102 white paper: four links, 112.5 GB/s
    {90, 90, 25e9},       // H100 white paper: eighteen links, 900 GB/s
    {100, 103, 50e9},     // Blackwell architecture brief: eighteen links, 1.8 TB/s
};

// 0: such GPUs have none, or it is not known.
double nvlink_bytes_per_s(int capability) {
  for (const LinkRate& row : kLinkRates)
    if (row.from <= capability && capability <= row.to) return row.bytes_per_s;
  return 0;
}

// "8.0" is 80; 0: not known.
int capability_of(const Gpu& gpu) {
  const std::string text = gpu.compute_capability.value.value_or("");
  const auto major = to_number(text.substr(0, text.find('.')));
  const auto minor = to_number(text.substr(std::min(text.find('.'), text.size() - 1) + 1));
  return major && minor ? static_cast<int>(10 * *major + *minor) : 0;
}

// An idle link saves power; under load it rises to the limit of GPU and slot.
double pcie_of(const Gpu& gpu) {
  return pcie_bytes_per_s(gpu.pcie_generation_max.value.value_or(0), gpu.pcie_width_max.value.value_or(0)).value_or(0);
}

constexpr int kSwitchReducesFrom = 90;  // NVLink SHARP: NVLink 4 and the third NVSwitch (NVIDIA H100 white paper)

// Addresses at the far ends of the active links: GPUs or switches, empty where hidden.
std::multiset<std::string> ends_of(const Gpu& gpu) {
  std::multiset<std::string> ends;
  for (const gpu::PeerLink& link : gpu.links)
    if (link.up) ends.insert(link.remote ? *link.remote : "");
  return ends;
}

// A link with that end joins a GPU to another one: directly, or through a switch that both link to.
bool joins(const std::string& end, const Gpu& other, const std::set<std::string>& all) {
  return end == other.pci_address.value || (!all.contains(end) && ends_of(other).contains(end));
}

int64_t links_into_group(std::span<const Gpu> gpus, size_t of, const std::set<std::string>& all) {
  const std::multiset<std::string> ends = ends_of(gpus[of]);
  return std::count_if(ends.begin(), ends.end(), [&](const std::string& end) {
    for (size_t i = 0; i < gpus.size(); ++i)
      if (i != of && joins(end, gpus[i], all)) return true;
    return false;
  });
}

void join_parts(std::span<const Gpu> gpus, const std::set<std::string>& all, GroupLinks& links) {
  links.part.resize(gpus.size());
  std::iota(links.part.begin(), links.part.end(), size_t{0});
  for (size_t i = 0; i < gpus.size(); ++i)
    for (size_t j = 0; j < gpus.size(); ++j) {
      const std::multiset<std::string> ends = ends_of(gpus[i]);
      const bool meet = i != j && std::any_of(ends.begin(), ends.end(),
                                              [&](const std::string& end) { return joins(end, gpus[j], all); });
      const size_t from = links.part[j], to = links.part[i];
      if (meet) std::replace(links.part.begin(), links.part.end(), from, to);
    }
  links.parts = std::set<size_t>(links.part.begin(), links.part.end()).size();
}

bool all_lead_to_switches(std::span<const Gpu> gpus, const std::set<std::string>& all) {
  for (const Gpu& gpu : gpus)
    for (const std::string& end : ends_of(gpu))
      if (all.contains(end)) return false;
  return true;
}

double lowest(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

std::string text_of(const GroupLinks& links, std::span<const Gpu> gpus) {
  std::string pcie = "PCIe of unknown speed";
  const auto slowest = static_cast<size_t>(
      std::min_element(links.pcie_bytes_per_s.begin(), links.pcie_bytes_per_s.end()) - links.pcie_bytes_per_s.begin());
  if (links.pcie_bytes_per_s[slowest] > 0)
    pcie = fmt::format("PCIe {}.0 x{}", *gpus[slowest].pcie_generation_max, *gpus[slowest].pcie_width_max);
  if (links.parts == gpus.size()) return pcie;
  const std::string nvlink = fmt::format("NVLink{}, {} of each GPU", links.by_switch ? " by switch" : "",
                                         format_bandwidth(lowest(links.nvlink_bytes_per_s)));
  return links.parts == 1 ? nvlink : fmt::format("NVLink in {} parts, {} between them", links.parts, pcie);
}

// For each part of several: the PCIe rate out of it, and its GPUs.
struct PartOfGroup {
  double pcie_bytes_per_s = 0;
  double gpus = 0;
};
std::vector<PartOfGroup> parts_of(const GroupLinks& links) {
  std::vector<PartOfGroup> parts(links.part.size());
  for (size_t i = 0; i < links.part.size(); ++i) {
    parts[links.part[i]].pcie_bytes_per_s += links.pcie_bytes_per_s[i];
    ++parts[links.part[i]].gpus;
  }
  std::erase_if(parts, [](const PartOfGroup& part) { return part.gpus == 0; });
  return parts;
}

}  // namespace

double bus_factor(Collective collective, size_t gpus) {
  const auto n = static_cast<double>(gpus);
  switch (collective) {
    case Collective::kAllReduce: return 2 * (n - 1) / n;
    case Collective::kBroadcast: return 1;
    default: return (n - 1) / n;
  }
}

GroupLinks links_of(std::span<const Gpu> gpus, const std::set<std::string>& all) {
  GroupLinks links;
  bool can_reduce = true;
  for (size_t i = 0; i < gpus.size(); ++i) {
    links.nvlink_bytes_per_s.push_back(static_cast<double>(links_into_group(gpus, i, all)) *
                                       nvlink_bytes_per_s(capability_of(gpus[i])));
    links.pcie_bytes_per_s.push_back(pcie_of(gpus[i]));
    can_reduce = can_reduce && capability_of(gpus[i]) >= kSwitchReducesFrom;
  }
  join_parts(gpus, all, links);
  links.by_switch = links.parts == 1 && all_lead_to_switches(gpus, all);
  links.switch_reduces = links.by_switch && can_reduce;
  links.text = text_of(links, gpus);
  return links;
}

// S: bytes of the operation; t: its time; B: rate of a GPU's links, one direction; n GPUs. Bus bandwidth b = factor · S
// / t. All-reduce: without a reducing switch, the GPUs together must send n - 1 partial sums and n - 1 results of S
// bytes each: t >= 2 (n - 1) S / ΣB, b <= ΣB / n; and every GPU sends at least its own S: b <= 2 (n - 1) / n · B. With
// one, a GPU sends its S to the switch and 1 / n of the result: t >= S (1 + 1 / n) / B (NVIDIA/nccl#2140 counts the
// same), b <= 2 (n - 1) / (n + 1) · B, if that is more. All-gather: every GPU receives (n - 1) / n S; reduce-scatter:
// sends it; broadcast: receives or sends S: b <= B for each. Parts of the group joined only by PCIe: the same for the
// traffic in or out of a part with k GPUs over all its PCIe: for all-reduce and broadcast S, for the others (n - k) / n
// S.
Result<double> bus_limit(const GroupLinks& links, Collective collective) {
  const auto n = static_cast<double>(links.part.size());
  std::vector<double> gpu;
  for (size_t i = 0; i < links.part.size(); ++i) {
    if (links.parts > 1 && links.pcie_bytes_per_s[i] == 0)
      return Error{Code::kUnavailable, fmt::format("it is not known what PCIe link GPU {} of the group has", i)};
    gpu.push_back(links.nvlink_bytes_per_s[i] + (links.parts > 1 ? links.pcie_bytes_per_s[i] : 0));
  }
  if (lowest(gpu) == 0) return Error{Code::kUnavailable, "it is not known what an NVLink of these GPUs carries"};
  double limit = lowest(gpu);
  if (collective == Collective::kAllReduce) {
    const double mean = std::accumulate(gpu.begin(), gpu.end(), 0.0) / n;
    limit = std::min(mean, 2 * (n - 1) / n * lowest(gpu));
    if (links.switch_reduces) limit = std::max(limit, 2 * (n - 1) / (n + 1) * lowest(gpu));
  }
  if (links.parts == 1) return limit;
  for (const PartOfGroup& part : parts_of(links)) {
    const bool whole = collective == Collective::kAllReduce || collective == Collective::kBroadcast;
    const double must_cross = whole ? 1 : (n - part.gpus) / n;
    limit = std::min(limit, bus_factor(collective, links.part.size()) * part.pcie_bytes_per_s / must_cross);
  }
  return limit;
}

UsualShare usual_bus_bandwidth(const GroupLinks& links, Collective collective) {
  if (links.parts > 1)
    // 12 GB/s of the 15.75 GB/s of PCIe 3.0 x16.
    return {0.76 * lowest(links.pcie_bytes_per_s),
            "76 % of PCIe's line rate, as NCCL itself counts on (its src/graph/topo.h)"};
  const double line = lowest(links.nvlink_bytes_per_s);
  // Two GPUs gain nothing from NCCL's use of the switch; three or more do.
  if (links.switch_reduces && collective == Collective::kAllReduce && links.part.size() > 2)
    return {1.3 * 0.8 * line, "80 % of NVLink's line rate and 30 % more where switches reduce (NVIDIA/nccl#1442)"};
  return {0.8 * line, "80 % of NVLink's line rate (NVIDIA/nccl#1054, nccl-tests#149)"};
}

}  // namespace ridge::doctor
