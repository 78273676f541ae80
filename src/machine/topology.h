// CPUs, cores, caches and NUMA nodes of the whole machine; probe.cc decides which of them this process may use. Two
// equivalent sources: hwloc on the running system, the files of a recorded tree in tests and where hwloc finds nothing.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridge::machine {

struct Topology {
  struct Cpu {
    int id = 0;    // as the system numbers it
    int core = 0;  // index of the physical core, counted from 0
  };
  struct CacheInstance {
    int level = 0;
    int64_t size_bytes = 0;
    std::vector<int> cpus;  // that share it
  };
  struct Node {
    int id = 0;
    int64_t memory_bytes = 0;
    std::vector<int> cpus;
  };
  std::vector<Cpu> cpus;              // online ones, ascending by id
  std::vector<CacheInstance> caches;  // data and unified
  std::vector<Node> nodes;
};

Result<Topology> topology_by_hwloc();
// Reads `root`/sys/devices/system and, for what is missing there, `root`/proc/cpuinfo.
Result<Topology> topology_from_files(const std::string& root);

// CPUs that this process may run on, by affinity and cpuset. Empty: `root`/proc/self/status does not say.
std::set<int> affinity(const std::string& root);

// "0-3,8,10-11" → {0,1,2,3,8,10,11}. The kernel's format for sets of CPUs; "" is the empty set.
Result<std::vector<int>> parse_cpu_list(std::string_view text);
std::string format_cpu_list(const std::vector<int>& ascending);

}  // namespace ridge::machine
