#include "generate/row_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace ridge::generate {
namespace {

constexpr size_t kLanes = 16;
constexpr size_t kRun = 256;  // values whose sum is kept in 32 bits

// exp(x) = 2^n · exp(r), x = n · ln 2 + r, |r| ≤ ln 2 / 2; Cephes' expf polynomial (Moshier). `x` is at most 0.
inline float exponential(float x) {
  constexpr float kLog2E = 1.44269504F, kHigh = 0.693359375F, kLow = -2.12194440e-4F;
  const float kept = std::max(x, -87.0F);
  const auto n = static_cast<int32_t>(kept * kLog2E - 0.5F);
  const auto whole = static_cast<float>(n);
  const float r = kept - whole * kHigh - whole * kLow;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const float power = std::bit_cast<float>((n + 127) << 23);
  return x < -87.0F ? 0.0F : p * power;
}

// Calls put(i, weight) for each value, and returns the sum of the weights.
template <typename Put>
double sum_exponentials(std::span<const float> row, float largest, float scale, Put put) {
  double sum = 0;
  size_t i = 0;
  while (i + kLanes <= row.size()) {
    const size_t end = std::min(row.size() / kLanes * kLanes, i + kRun);
    std::array<float, kLanes> lanes{};
    for (; i < end; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const float weight = exponential((row[i + lane] - largest) * scale);
        put(i + lane, weight);
        lanes[lane] += weight;
      }
    }
    for (const float lane : lanes) sum += lane;
  }
  for (; i < row.size(); ++i) {
    const float weight = exponential((row[i] - largest) * scale);
    put(i, weight);
    sum += weight;
  }
  return sum;
}

}  // namespace

int32_t index_of_largest(std::span<const float> row) {
  // The largest of each run first, then its place in the first run that has it.
  float largest = -std::numeric_limits<float>::infinity();
  size_t start = 0;
  size_t i = 0;
  while (i + kLanes <= row.size()) {
    const size_t begin = i;
    const size_t end = std::min(row.size() / kLanes * kLanes, i + kRun);
    std::array<float, kLanes> lanes;
    lanes.fill(-std::numeric_limits<float>::infinity());
    for (; i < end; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] = row[i + lane] > lanes[lane] ? row[i + lane] : lanes[lane];
    }
    const float here = *std::ranges::max_element(lanes);
    if (here > largest) {
      largest = here;
      start = begin;
    }
  }
  for (; i < row.size(); ++i) {
    if (row[i] > largest) {
      largest = row[i];
      start = i;
    }
  }
  while (start + 1 < row.size() && row[start] != largest) ++start;
  return row[start] == largest ? static_cast<int32_t>(start) : 0;
}

double exponentials(std::span<const float> row, float largest, float scale, std::span<float> weights) {
  return sum_exponentials(row, largest, scale, [&](size_t i, float weight) { weights[i] = weight; });
}

double sum_of_exponentials(std::span<const float> row, float largest, float scale) {
  return sum_exponentials(row, largest, scale, [](size_t, float) {});
}

}  // namespace ridge::generate
