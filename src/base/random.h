// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014): number n of the
// sequence of `seed`, n = 1, 2, …, is split_mix(seed + n · kGoldenGamma), the same everywhere (distributions of the
// standard library are not).
#pragma once

#include <cstdint>

namespace ridge {

constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio, odd

constexpr uint64_t split_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace ridge
