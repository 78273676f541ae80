// Occupancy: the share of a multiprocessor's warps that a kernel can keep resident, and its limiting resource.
//
// Source: the rules of NVIDIA's cuda_occupancy.h (nvidia-cuda-runtime 13.5.37, functions cudaOccMaxBlocksPerSM…Limit) on the
// table catalogue/capability.h, with the largest share of the L1 cache given to shared memory. (Not covered: on capability 6.0
// the driver refuses what no 6.1 could run.) Pure functions; immutable values.
// Not a measure of speed: with enough work per thread, low occupancy may be faster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "catalogue/capability.h"

namespace ridge::lab {

// The resources of one kernel.
struct KernelUse {
  int threads = 256;        // per block
  int registers = 32;       // per thread, from the compiler
  double shared_bytes = 0;  // per block, static and dynamic
};

struct Occupancy {
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

// Errors: an invalid request (threads < 1), or a capability without sourced limits.
Result<Occupancy> occupancy(const catalogue::Capability& capability, const KernelUse& use);

Json to_json(const Occupancy& occupancy);

}  // namespace ridge::lab
