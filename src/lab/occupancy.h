// Occupancy: the share of a multiprocessor's warps that a kernel can keep resident, and its limiting resource.
//
// Source: the rules of NVIDIA's cuda_occupancy.h (nvidia-cuda-runtime 13.5.37, functions cudaOccMaxBlocksPerSM…Limit)
// on the table catalogue/capability.h, with the largest share of the L1 cache given to shared memory. (Not covered: on
// capability 6.0 the driver refuses what no 6.1 could run.) Pure functions; immutable values.
// Low occupancy may be faster if each thread has enough work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"
#include "base/result.h"
#include "base/units.h"
#include "catalogue/capability.h"

namespace ridge::lab {

// The resources of one kernel.
struct KernelUse {
  int threads = 256;        // per block
  int registers = 32;       // per thread, from the compiler
  double shared_bytes = 0;  // per block, static and dynamic
};
void visit_fields(auto& visit, Is<KernelUse> auto& use) {
  visit("threads", use.threads);
  visit("registers", use.registers);
  visit("shared_bytes", use.shared_bytes);
}

struct Occupancy {
  std::string capability, architecture;
  int blocks = 0;      // resident per multiprocessor; 0: the kernel cannot be launched
  int warps = 0;       // resident per multiprocessor
  double percent = 0;  // of the warps that it can hold
  // Blocks that each resource alone would admit; absent: the kernel does not use it.
  int by_warps = 0;
  int by_blocks = 0;
  std::optional<int> by_registers;
  std::optional<int> by_shared;
  std::vector<std::string> limiters;  // "warps", "blocks", "registers", "shared memory": those that admit the fewest
  std::optional<int> registers_for_more;  // registers per thread with which one more block fits, if they are the limit
  std::optional<double> shared_for_more;  // [bytes per block] likewise
};
void visit_fields(auto& visit, Is<Occupancy> auto& occupancy) {
  visit("compute_capability", occupancy.capability);
  visit("architecture", occupancy.architecture);
  visit("percent", occupancy.percent, means("of the warps that a multiprocessor can hold").in("%"));
  visit("warps", occupancy.warps, Figure().column("warps"));
  visit("blocks", occupancy.blocks, means("resident; 0: the kernel cannot be launched").column("blocks").leaves(5));
  visit("limiters", occupancy.limiters, means("the resources that admit the fewest blocks").column("limited by"));
  visit("blocks_by_warps", occupancy.by_warps, means("admitted by this alone").column("by warps").leaves(4));
  visit("blocks_by_blocks", occupancy.by_blocks, Figure().column("by blocks").leaves(3));
  visit("blocks_by_registers", occupancy.by_registers,
        means("null: the kernel uses none").column("by registers").leaves(2));
  visit("blocks_by_shared_memory", occupancy.by_shared, means("likewise").column("by shared").leaves(1));
  visit("registers_for_more", occupancy.registers_for_more,
        means("with which one block more fits; null: they are not the only limit"));
  visit("shared_bytes_for_more", occupancy.shared_for_more, means("likewise"));
}
// Of one kernel on several capabilities.
struct Occupancies {
  KernelUse use;
  std::vector<Occupancy> results;
};
void visit_fields(auto& visit, Is<Occupancies> auto& of) {
  visit_fields(visit, of.use);
  visit.derived("origin", Origin::kDerived);
  visit("occupancy", of.results);
}

// Errors: an invalid request (threads < 1), or a capability without sourced limits.
Result<Occupancy> occupancy(const catalogue::Capability& capability, const KernelUse& use);

}  // namespace ridge::lab
