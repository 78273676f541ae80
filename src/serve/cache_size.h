// How many blocks of a language model's cache fit into the memory that this process can still take, once the weights
// are loaded. Pure.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/decoder.h"

namespace ridge::serve {

struct CacheDemand {
  engine::CacheShape shape;
  int64_t context = 0;         // most tokens of a sequence
  int64_t most_sequences = 1;  // that run at the same time
  int64_t tokens = 0;          // that are to be kept; 0: enough for several sequences
  uint64_t free_bytes = 0;     // beside the weights; 0: not known
  // For the error.
  uint64_t file_bytes = 0;   // of the weights, as stored
  int64_t weight_bytes = 0;  // of the engine's own copy
};

// At least one sequence of the whole context, or as many tokens as were asked for. kExhausted: what it takes, what is
// free, and what would fit.
Result<int64_t> cache_blocks(const CacheDemand& demand);

}  // namespace ridge::serve
