#include "machine/probe.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/file.h"
#include "base/log.h"
#include "base/proc_text.h"
#include "machine/cgroup.h"
#include "machine/identity.h"
#include "machine/isa.h"
#include "machine/topology.h"

namespace ridge::machine {
namespace {

// "MemTotal: 24684092 kB" → bytes.
int64_t meminfo_bytes(const std::string& meminfo, std::string_view name) {
  std::string value = line_value(meminfo, name).value_or("");
  return to_number(value.substr(0, value.find("kB"))).value_or(0) * 1024;
}

Result<Topology> read_topology(const std::string& root) {
  if (!root.empty()) return topology_from_files(root);
  Result<Topology> topology = topology_by_hwloc();
  if (topology) return topology;
  log::warning("{}; reading /sys instead", topology.error().message);
  return topology_from_files(root);
}

// Online CPUs left to this process by affinity and cpuset. If unknown: all.
std::vector<int> allowed_cpus(const std::string& root, const Topology& topology) {
  const std::set<int> allowed = affinity(root);
  std::vector<int> usable, online;
  for (const Topology::Cpu& cpu : topology.cpus) {
    online.push_back(cpu.id);
    if (allowed.contains(cpu.id)) usable.push_back(cpu.id);
  }
  return usable.empty() ? online : usable;
}

bool shares(const std::vector<int>& cpus, const std::set<int>& allowed) {
  return std::any_of(cpus.begin(), cpus.end(), [&](int id) { return allowed.contains(id); });
}

std::vector<Cache> summarise_caches(const Topology& topology, const std::set<int>& allowed) {
  std::map<std::pair<int, int64_t>, int> instances;
  for (const auto& cache : topology.caches)
    if (shares(cache.cpus, allowed)) ++instances[{cache.level, cache.size_bytes}];
  std::vector<Cache> caches;
  for (const auto& [kind, count] : instances) caches.push_back({kind.first, kind.second, count});
  return caches;
}

std::vector<NumaNode> summarise_nodes(const Topology& topology, const std::set<int>& allowed) {
  std::vector<NumaNode> nodes;
  for (const auto& node : topology.nodes) {
    auto usable = std::count_if(node.cpus.begin(), node.cpus.end(), [&](int id) { return allowed.contains(id); });
    nodes.push_back({node.id, node.memory_bytes, static_cast<int>(usable)});
  }
  return nodes;
}

void fill_topology(const std::string& root, const Topology& topology, Cpu& cpu) {
  cpu.cpus = allowed_cpus(root, topology);
  std::set<int> allowed(cpu.cpus.begin(), cpu.cpus.end());
  std::set<int> all_cores, allowed_cores;
  for (const Topology::Cpu& logical : topology.cpus) {
    all_cores.insert(logical.core);
    if (allowed.contains(logical.id) && allowed_cores.insert(logical.core).second) cpu.core_cpus.push_back(logical.id);
  }
  cpu.physical_cores = static_cast<int>(all_cores.size());
  cpu.logical_cpus = static_cast<int>(topology.cpus.size());
  cpu.allowed_cpus = static_cast<int>(cpu.cpus.size());
  cpu.allowed_cores = static_cast<int>(cpu.core_cpus.size());
  cpu.caches = summarise_caches(topology, allowed);
  cpu.numa = summarise_nodes(topology, allowed);
}

// Arm has no name, only numbers assigned by the manufacturer.
std::string cpu_model(const std::string& cpuinfo) {
  if (auto model = line_value(cpuinfo, "model name"); model && !model->empty()) return *model;
  auto implementer = line_value(cpuinfo, "CPU implementer");
  auto part = line_value(cpuinfo, "CPU part");
  if (implementer && part) return "Arm implementer " + *implementer + " part " + *part;
  return "unknown CPU";
}

std::string system_name(const std::string& root) {
  std::string release = text_or_empty(root + "/proc/sys/kernel/osrelease");
  release.erase(std::min(release.find('\n'), release.size()));
  std::string name = "Linux" + (release.empty() ? "" : " " + release);
  std::optional<std::string> distribution = line_value(text_or_empty(root + "/etc/os-release"), "PRETTY_NAME", '=');
  if (!distribution) return name;
  std::erase(*distribution, '"');
  return name + " (" + *distribution + ")";
}

}  // namespace

Result<Machine> probe(const std::string& root) {
  RIDGE_ASSIGN(Topology topology, read_topology(root));
  std::string cpuinfo = text_or_empty(root + "/proc/cpuinfo");
  std::string meminfo = text_or_empty(root + "/proc/meminfo");
  CgroupLimits limits = cgroup_limits(root);
  Machine machine;
  fill_topology(root, topology, machine.cpu);
  machine.cpu.model = cpu_model(cpuinfo);
  machine.cpu.vendor = line_value(cpuinfo, "vendor_id").value_or("");
  machine.cpu.quota = limits.cpus;
  machine.cpu.isa = root.empty() ? this_isa() : std::vector<std::string>{};
  if (machine.cpu.isa.empty()) machine.cpu.isa = isa_from_cpuinfo(cpuinfo);
  if (const char* cap = std::getenv("RIDGE_MAX_CPU_ISA"); cap != nullptr && *cap != '\0' && root.empty()) {
    RIDGE_ASSIGN(machine.cpu.isa, isa_up_to(cap, machine.cpu.isa));
  }
  machine.memory.total_bytes = meminfo_bytes(meminfo, "MemTotal");
  machine.memory.available_bytes = meminfo_bytes(meminfo, "MemAvailable");
  machine.memory.limit_bytes = limits.memory_bytes;
  machine.system = system_name(root);
  machine.id = machine_id(machine);
  return machine;
}

}  // namespace ridge::machine
