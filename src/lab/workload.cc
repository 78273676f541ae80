#include "lab/workload.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <random>

#include "base/units.h"

namespace ridge::lab {

std::vector<float> random_values(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  // By hand: the library's distributions differ between implementations.
  for (float& value : values) value = static_cast<float>(random() >> 8) / static_cast<float>(1 << 23) - 1;
  return values;
}

size_t floats_beyond_caches(const Target& target) {
  constexpr size_t kMi = 1 << 20;
  if (target.small) return 16 << 10;
  size_t wanted = 4 * static_cast<size_t>(target.last_cache_bytes) / sizeof(float);
  return std::bit_ceil(std::clamp(wanted, 16 * kMi, 32 * kMi));
}

gpu::Launch launch_per_element(std::string kernel, size_t count, size_t threads, std::vector<gpu::Argument> arguments) {
  assert(count % threads == 0);
  return {std::move(kernel), {count / threads}, {threads}, std::move(arguments)};
}

std::string size_text(size_t floats) { return format_bytes(static_cast<double>(floats * sizeof(float))); }

}  // namespace ridge::lab
