#include "zoo/random.h"

#include <cassert>

#include "base/random.h"

namespace ridge::zoo {
namespace {

// 24 bits, exactly representable as float, to [-1, 1).
float to_unit(uint64_t bits) {
  return static_cast<float>(static_cast<int32_t>(bits & 0xFFFFFF) - 0x800000) * (1.0F / 0x800000);
}

}  // namespace

uint64_t stream_key(uint64_t seed, uint64_t index) {
  return split_mix(split_mix(seed + kGoldenGamma) + (index + 1) * kGoldenGamma);
}

void fill_uniform(std::span<float> out, uint64_t key, uint64_t first, float mean, float deviation) {
  assert(first % 2 == 0);
  constexpr float kRootThree = 1.7320508F;  // a uniform variable on ±1 has deviation 1/√3
  const float half_width = kRootThree * deviation;
  uint64_t counter = key + first / 2 * kGoldenGamma;
  size_t i = 0;
  for (; i + 1 < out.size(); i += 2, counter += kGoldenGamma) {
    uint64_t bits = split_mix(counter);
    out[i] = mean + half_width * to_unit(bits);
    out[i + 1] = mean + half_width * to_unit(bits >> 32);
  }
  if (i < out.size()) out[i] = mean + half_width * to_unit(split_mix(counter));
}

}  // namespace ridge::zoo
