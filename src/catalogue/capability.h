// CUDA compute capabilities: the resources per multiprocessor of each generation of NVIDIA chips, and the CUDA toolkits
// that compile for it. Table data/compute_capability.csv; the limits are those of the CUDA programming guide. A blank
// is not sourced. Immutable once read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/figure.h"
#include "base/result.h"

namespace ridge::catalogue {

struct Capability {
  std::string version;                           // "8.9"
  std::string architecture;                      // "Ada Lovelace"
  std::vector<std::string> chips;                // "AD102", …
  std::string first_cuda;                        // toolkit; empty: not sourced
  std::string last_cuda;                         // empty: still supported
  std::optional<int> threads, blocks, warps;     // resident at most, per multiprocessor
  std::optional<int> registers;                  // of 32 bits, per multiprocessor
  std::optional<int> registers_per_thread;       // at most
  std::optional<double> shared_bytes;            // per multiprocessor
  std::optional<double> shared_bytes_per_block;  // at most, with opt-in
  std::optional<int> fp32_lanes, fp64_lanes;     // per multiprocessor
  // Allocation granularity of a launch (used by lab/occupancy.h):
  std::optional<int> registers_per_block;       // at most
  std::optional<int> register_unit;             // registers of one warp are a multiple of it
  std::optional<int> sub_partitions;            // of a multiprocessor, each with its part of registers and warps
  std::optional<double> shared_unit_bytes;      // shared memory of a block is a multiple of it
  std::optional<double> shared_reserved_bytes;  // of each block, for the system
  std::vector<std::string> tensor_precisions;   // of the tensor cores; none before 7.0
  std::string notes;
  std::string source;
};
void visit_fields(auto& visit, Is<Capability> auto& capability) {
  visit("version", capability.version, Figure().column("capability"));
  visit("architecture", capability.architecture, Figure().column("architecture"));
  visit("chips", capability.chips, Figure().column("chips"));
  visit.or_null("first_cuda", capability.first_cuda, Figure().column("first CUDA"));
  visit.or_null("last_cuda", capability.last_cuda);
  visit("threads", capability.threads,
        means("of a multiprocessor, as blocks, warps, registers, shared memory and lanes")
            .column("threads/SM")
            .leaves(4));
  visit("blocks", capability.blocks);
  visit("warps", capability.warps);
  visit("registers", capability.registers);
  visit("registers_per_thread", capability.registers_per_thread);
  visit("shared_bytes", capability.shared_bytes, Figure().column("shared/SM").leaves(3));
  visit("shared_bytes_per_block", capability.shared_bytes_per_block);
  visit("fp32_lanes", capability.fp32_lanes, Figure().column("FP32 lanes/SM").leaves(2));
  visit("fp64_lanes", capability.fp64_lanes);
  visit("registers_per_block", capability.registers_per_block);
  visit("register_unit", capability.register_unit, means("registers of one warp are a multiple of it"));
  visit("sub_partitions", capability.sub_partitions);
  visit("shared_unit_bytes", capability.shared_unit_bytes, means("shared memory of a block is a multiple of it"));
  visit("shared_reserved_bytes", capability.shared_reserved_bytes, means("of each block, for the system"));
  visit("tensor_precisions", capability.tensor_precisions,
        means("of the tensor cores").column("tensor cores").leaves(5));
  visit.or_null("notes", capability.notes);
  visit("source", capability.source);
}

// The embedded table, oldest first.
Result<std::vector<Capability>> capabilities();

// The row of "8.9", also written "89" or "sm_89". Errors name the nearest ones.
Result<Capability> find_capability(std::span<const Capability> all, std::string_view version);

}  // namespace ridge::catalogue
