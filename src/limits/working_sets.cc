#include <algorithm>

#include "limits/limits.h"
#include "limits/memory_kernels.h"

namespace ridge::limits {
namespace {

constexpr int64_t kMiB = 1024 * 1024;
constexpr int64_t kDramWithoutCaches = 256 * kMiB;  // when the system does not report its cache sizes
constexpr int64_t kMostDram = 4096 * kMiB;
constexpr int64_t kPartOfFree =
    16;  // two mappings for one thread and two for all of them: a quarter of what is free at most
constexpr int kUncertainThreads = 4;
constexpr auto kStep = static_cast<int64_t>(kWorkingSetStep);

int64_t round_down(int64_t bytes) { return std::max(kStep, bytes / kStep * kStep); }

// Size of the caches shared by `threads` threads, per thread.
int64_t share(const machine::Machine& machine, int level, int threads) {
  return machine::cache_capacity(machine, level, threads) / threads;
}

// Six times the last cache: measured on an AMD EPYC (family 26) in a virtual machine, sets of 3 caches read up to a
// third too fast, sets of 6 and more agree. A virtual machine's few CPUs may each have their own cache, whatever it
// reports; so up to kUncertainThreads threads get six caches each.
int64_t dram_bytes(const machine::Machine& machine, int threads) {
  int64_t caches = 0;
  for (int level : {1, 2, 3}) {
    int64_t one_each = machine::cache_capacity(machine, level, 1) * std::min(threads, kUncertainThreads);
    caches = std::max({caches, machine::cache_capacity(machine, level, threads), one_each});
  }
  int64_t wanted = caches == 0 ? kDramWithoutCaches : std::max(6 * caches, 64 * kMiB);
  int64_t free = machine.memory.available_bytes;
  if (machine.memory.limit_bytes) free = std::min(free, *machine.memory.limit_bytes / 2);
  return std::min({wanted, kMostDram, std::max(free / kPartOfFree, kMiB)});
}

}  // namespace

std::vector<WorkingSet> working_sets(const machine::Machine& machine, int threads) {
  std::vector<WorkingSet> sets;
  int64_t l1 = share(machine, 1, threads), l2 = share(machine, 2, threads), l3 = share(machine, 3, threads);
  if (l1 > 0) sets.push_back({"L1", round_down(l1 / 2)});
  if (l2 > 2 * l1) sets.push_back({"L2", round_down(std::max(l2 / 2, 2 * l1))});
  if (l3 > l2) {
    // Well outside L2, well inside L3, part of which other tenants of the machine may use.
    for (int64_t part : {l3 / 4, l3 / 2})
      if (part >= 2 * l2) sets.push_back({"L3", round_down(part)});
    if (sets.back().level != "L3") sets.push_back({"L3", round_down(l2 + l3 / 2)});
  }
  sets.push_back({"DRAM", round_down(dram_bytes(machine, threads) / threads)});
  return sets;
}

}  // namespace ridge::limits
