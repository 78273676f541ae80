#include "lab/occupancy.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cmath>

#include "base/rounding.h"

namespace ridge::lab {
namespace {

constexpr int kWarp = 32;
constexpr int kThreadsPerBlock =
    1024;  // every capability since 2.0: CUDA programming guide, table of compute capabilities

// Everything the rules need is sourced for this capability.
bool known(const catalogue::Capability& c) {
  return c.threads && c.blocks && c.registers && c.registers_per_thread && c.shared_bytes && c.shared_bytes_per_block &&
         c.registers_per_block && c.register_unit && c.sub_partitions && c.shared_unit_bytes && c.shared_reserved_bytes;
}

int warps_of(const KernelUse& use) { return round_up(use.threads, kWarp) / kWarp; }

int blocks_by_warps(const catalogue::Capability& c, const KernelUse& use) {
  return use.threads > kThreadsPerBlock ? 0 : *c.threads / kWarp / warps_of(use);
}

// Registers are allocated to warps in units, from the register file of the warp's sub-partition. A launch is refused as
// if its warps were a multiple of the sub-partitions.
int blocks_by_registers(const catalogue::Capability& c, const KernelUse& use) {
  int of_warp = round_up(use.registers * kWarp, *c.register_unit);
  if (use.registers > *c.registers_per_thread) return 0;
  if (of_warp * round_up(warps_of(use), *c.sub_partitions) > *c.registers_per_block) return 0;
  int warps_of_partition = *c.registers / *c.sub_partitions / of_warp;
  return warps_of_partition * *c.sub_partitions / warps_of(use);
}

int blocks_by_shared(const catalogue::Capability& c, const KernelUse& use) {
  if (use.shared_bytes > *c.shared_bytes_per_block) return 0;
  double unit = *c.shared_unit_bytes;
  double of_block = std::ceil((use.shared_bytes + *c.shared_reserved_bytes) / unit) * unit;
  return static_cast<int>(*c.shared_bytes / of_block);
}

// The most registers per thread with which `blocks` blocks fit.
std::optional<int> registers_for(const catalogue::Capability& c, KernelUse use, int blocks) {
  for (--use.registers; use.registers > 0; --use.registers)
    if (blocks_by_registers(c, use) >= blocks) return use.registers;
  return std::nullopt;
}

// The most shared memory per block for `blocks` blocks: an equal part, in whole units, less the reserved memory.
std::optional<double> shared_for(const catalogue::Capability& c, int blocks) {
  double part = std::floor(*c.shared_bytes / blocks / *c.shared_unit_bytes) * *c.shared_unit_bytes;
  double bytes = std::min(part - *c.shared_reserved_bytes, *c.shared_bytes_per_block);
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

void name_limiters(const catalogue::Capability& c, const KernelUse& use, Occupancy& result) {
  int registers = result.by_registers.value_or(INT_MAX), shared = result.by_shared.value_or(INT_MAX);
  for (auto [name, admits] : {std::pair("warps", result.by_warps), std::pair("blocks", result.by_blocks),
                              std::pair("registers", registers), std::pair("shared memory", shared)})
    if (admits == result.blocks) result.limiters.emplace_back(name);
  // Reducing one resource helps only if no other one limits the kernel as well.
  if (result.limiters.size() != 1) return;
  if (registers == result.blocks) result.registers_for_more = registers_for(c, use, result.blocks + 1);
  if (shared == result.blocks) result.shared_for_more = shared_for(c, result.blocks + 1);
}

}  // namespace

Result<Occupancy> occupancy(const catalogue::Capability& capability, const KernelUse& use) {
  if (use.threads < 1 || use.registers < 0 || use.shared_bytes < 0)
    return Error{Code::kInvalid,
                 fmt::format("occupancy of {} threads, {} registers, {} bytes: threads must be at least 1 "
                             "and nothing negative",
                             use.threads, use.registers, use.shared_bytes)};
  if (!known(capability))
    return Error{Code::kUnsupported,
                 fmt::format("the limits of compute capability {} are not sourced", capability.version)};
  Occupancy result;
  result.capability = capability.version;
  result.architecture = capability.architecture;
  result.by_warps = blocks_by_warps(capability, use);
  result.by_blocks = *capability.blocks;
  if (use.registers > 0) result.by_registers = blocks_by_registers(capability, use);
  if (use.shared_bytes > 0 || *capability.shared_reserved_bytes > 0)
    result.by_shared = blocks_by_shared(capability, use);
  result.blocks = std::min(
      {result.by_warps, result.by_blocks, result.by_registers.value_or(INT_MAX), result.by_shared.value_or(INT_MAX)});
  result.warps = result.blocks * warps_of(use);
  result.percent = 100.0 * result.warps / (*capability.threads / kWarp);
  name_limiters(capability, use, result);
  return result;
}

}  // namespace ridge::lab
