// Counter-based random numbers: element i of stream k is a function of (k, i) alone, so weights can be written in any
// order and in pieces, and one seed gives the same bytes everywhere.
#pragma once

#include <cstdint>
#include <span>

namespace ridge::zoo {

// The stream of weight number `index` under `seed`.
uint64_t stream_key(uint64_t seed, uint64_t index);

// Elements first, first + 1, … of the stream: uniform in mean ± √3 · deviation, hence with that standard deviation.
// `first` is even.
void fill_uniform(std::span<float> out, uint64_t key, uint64_t first, float mean, float deviation);

}  // namespace ridge::zoo
