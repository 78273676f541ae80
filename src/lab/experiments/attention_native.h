// Attention on one thread of the processor: by way of a table of all scores, or by tiles that stay in the first caches.
#pragma once

#include <cstddef>

namespace ridge::lab {

constexpr size_t kHeadWidth = 64;

struct AttentionWork {
  const float* query;   // [head, position, kHeadWidth]
  const float* turned;  // keys: [head, kHeadWidth, position]
  const float* value;   // [head, position, kHeadWidth]
  float* scores;        // [position, position]; of one head after the other
  float* out;           // [head, position, kHeadWidth]
  size_t heads, count;  // count is a multiple of 128
};

struct AttentionLoops {
  void (*table)(const AttentionWork&);
  void (*tiles)(const AttentionWork&);
};
// Compiled for the widest vectors of this processor.
const AttentionLoops& attention_loops();

}  // namespace ridge::lab
