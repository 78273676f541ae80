#include "zoo/random.h"

#include <cassert>

namespace ridge::zoo {
namespace {

constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15;

// Finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// 24 bits, exactly representable as float, to [-1, 1).
float to_unit(uint64_t bits) {
  return static_cast<float>(static_cast<int32_t>(bits & 0xFFFFFF) - 0x800000) * (1.0F / 0x800000);
}

}  // namespace

uint64_t stream_key(uint64_t seed, uint64_t index) {
  return mix(mix(seed + kGoldenGamma) + (index + 1) * kGoldenGamma);
}

void fill_uniform(std::span<float> out, uint64_t key, uint64_t first, float mean, float deviation) {
  assert(first % 2 == 0);
  constexpr float kRootThree = 1.7320508F;  // a uniform variable on ±1 has deviation 1/√3
  const float half_width = kRootThree * deviation;
  uint64_t counter = key + first / 2 * kGoldenGamma;
  size_t i = 0;
  for (; i + 1 < out.size(); i += 2, counter += kGoldenGamma) {
    uint64_t bits = mix(counter);
    out[i] = mean + half_width * to_unit(bits);
    out[i + 1] = mean + half_width * to_unit(bits >> 32);
  }
  if (i < out.size()) out[i] = mean + half_width * to_unit(mix(counter));
}

}  // namespace ridge::zoo
