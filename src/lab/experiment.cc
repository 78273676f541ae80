#include "lab/experiment.h"

#include "lab/experiments/all.h"

namespace ridge::lab {
namespace {

const Experiment kExperiments[] = {
    {"unified", "memory that host and device share, or copies", {"L01"}, experiments::unified_cases},
    {"pools", "memory from the driver each time, or from a pool", {"L02"}, experiments::pools_cases},
    {"alignment", "loads that begin at a line's beginning, or in its middle", {"L03"}, experiments::alignment_cases},
    {"coalescing",
     "neighbours that read neighbouring addresses, or distant ones",
     {"L04"},
     experiments::coalescing_cases},
    {"vector_loads", "one, two or four floats per load", {"L05"}, experiments::vector_loads_cases},
    {"block_size", "how many threads a block has", {"L06"}, experiments::block_size_cases},
    {"matmul", "a product from memory, by tiles, by blocks in registers", {"L07", "L16"}, experiments::matmul_cases},
    {"matmul_tensor",
     "products by tensor cores, by the vendor, and the cores alone",
     {"L15", "L16"},
     experiments::matmul_tensor_cases},
    {"transpose", "tiles in shared memory, with and without bank conflicts", {"L07"}, experiments::transpose_cases},
    {"registers", "more registers per thread, or more threads", {"L08"}, experiments::registers_cases},
    {"divergence", "neighbours that go different ways, or the same", {"L09"}, experiments::divergence_cases},
    {"reduction",
     "working threads scattered over all warps, or together in few",
     {"L09"},
     experiments::reduction_cases},
    {"pinned", "copies from and to any memory, or memory that stays in its place", {"L10"}, experiments::pinned_cases},
    {"streams", "copies and kernels in one queue, or in several side by side", {"L11"}, experiments::streams_cases},
    {"small_launches", "many small launches, or one that does the same", {"L12"}, experiments::small_launches_cases},
    {"layer_norm", "LayerNorm and Sigmoid one after the other, or in one", {"L13"}, experiments::layer_norm_cases},
    {"attention", "attention by a table of all scores, or by tiles", {"L14"}, experiments::attention_cases},
    {"attention_half", "the same in FP16 and BF16, and on tensor cores", {"L14"}, experiments::attention_half_cases},
    {"memory_share", "simple loops over memory, and reading alone", {"L17"}, experiments::memory_share_cases},
    {"thread_count", "as many threads as CPUs that may be used, or more", {"L33"}, experiments::thread_count_cases},
};

}  // namespace

std::span<const Experiment> all_experiments() { return kExperiments; }

}  // namespace ridge::lab
