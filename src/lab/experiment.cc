#include "lab/experiment.h"

#include "lab/experiments/all.h"

namespace ridge::lab {
namespace {

const Experiment kExperiments[] = {
    {"alignment", "loads that begin at a line's beginning, or in its middle", {"L03"}, alignment_cases},
    {"coalescing", "neighbours that read neighbouring addresses, or distant ones", {"L04"}, coalescing_cases},
    {"vector_loads", "one, two or four floats per load", {"L05"}, vector_loads_cases},
    {"block_size", "how many threads a block has", {"L06"}, block_size_cases},
    {"matmul", "a product from memory, by tiles, by blocks in registers", {"L07"}, matmul_cases},
    {"transpose", "tiles in shared memory, with and without bank conflicts", {"L07"}, transpose_cases},
    {"divergence", "neighbours that go different ways, or the same", {"L09"}, divergence_cases},
    {"reduction", "working threads scattered over all warps, or together in few", {"L09"}, reduction_cases},
    {"small_launches", "many small launches, or one that does the same", {"L12"}, small_launches_cases},
    {"layer_norm", "LayerNorm and Sigmoid one after the other, or in one", {"L13"}, layer_norm_cases},
    {"attention", "attention by a table of all scores, or by tiles", {"L14"}, attention_cases},
};

}  // namespace

std::span<const Experiment> experiments() { return kExperiments; }

}  // namespace ridge::lab
