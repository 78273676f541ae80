// The cases of every experiment, one function and one file each; the table is in lab/experiment.cc.
#pragma once

#include <vector>

#include "lab/experiment.h"

namespace ridge::lab::experiments {

std::vector<Case> alignment_cases(const Target& target);
std::vector<Case> attention_cases(const Target& target);
std::vector<Case> attention_half_cases(const Target& target);
std::vector<Case> block_size_cases(const Target& target);
std::vector<Case> coalescing_cases(const Target& target);
std::vector<Case> divergence_cases(const Target& target);
std::vector<Case> layer_norm_cases(const Target& target);
std::vector<Case> matmul_cases(const Target& target);
std::vector<Case> matmul_tensor_cases(const Target& target);
std::vector<Case> memory_share_cases(const Target& target);
std::vector<Case> pinned_cases(const Target& target);
std::vector<Case> pools_cases(const Target& target);
std::vector<Case> reduction_cases(const Target& target);
std::vector<Case> registers_cases(const Target& target);
std::vector<Case> small_launches_cases(const Target& target);
std::vector<Case> streams_cases(const Target& target);
std::vector<Case> thread_count_cases(const Target& target);
std::vector<Case> transpose_cases(const Target& target);
std::vector<Case> unified_cases(const Target& target);
std::vector<Case> vector_loads_cases(const Target& target);

}  // namespace ridge::lab::experiments
