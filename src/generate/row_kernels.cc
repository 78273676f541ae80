#include "generate/row_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

namespace ridge::generate {
namespace {

// Four values at a time, as every x86-64 and ARM64 CPU has them (GCC's and clang's vector extension): compilers do not
// vectorise the loop by themselves.
constexpr size_t kLanes = 4;
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Integers = int32_t __attribute__((vector_size(kLanes * sizeof(int32_t))));
constexpr size_t kUnrolled = 4;
constexpr size_t kStep = kLanes * kUnrolled;
constexpr size_t kRun = 256;  // values whose sum is kept in 32 bits

inline Floats load(const float* from) {
  Floats values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

// exp(x) = 2^n · exp(r), x = n · ln 2 + r, |r| ≤ ln 2 / 2; Cephes' expf polynomial (Moshier). `x` is at most 0.
inline Floats exponential(Floats x) {
  constexpr float kLog2E = 1.44269504F, kHigh = 0.693359375F, kLow = -2.12194440e-4F, kLeast = -87;
  const Integers enough = x >= kLeast;  // all bits, or none
  const Floats kept = enough ? x : Floats{};
  const Integers n = __builtin_convertvector(kept * kLog2E - 0.5F, Integers);  // rounds towards 0
  const Floats whole = __builtin_convertvector(n, Floats);
  const Floats r = kept - whole * kHigh - whole * kLow;
  Floats p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const Integers power = (n + 127) << 23;
  const Floats value = p * std::bit_cast<Floats>(power);
  return enough ? value : Floats{};
}

// Calls put(i, weights) for each four values, the last padded, and returns the sum of the weights.
template <typename Put>
double sum_exponentials(std::span<const float> row, float largest, float scale, Put put) {
  double sum = 0;
  size_t i = 0;
  const size_t whole = row.size() / kStep * kStep;
  while (i < whole) {
    const size_t end = std::min(whole, i + kRun);
    std::array<Floats, kUnrolled> sums{};
    for (; i < end; i += kStep) {
      for (size_t j = 0; j < kUnrolled; ++j) {
        const Floats weights = exponential((load(&row[i + j * kLanes]) - largest) * scale);
        put(i + j * kLanes, weights);
        sums[j] += weights;
      }
    }
    const Floats both = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    sum += (both[0] + both[1]) + (both[2] + both[3]);
  }
  for (; i < row.size(); i += kLanes) {
    Floats logits = Floats{} - std::numeric_limits<float>::infinity();
    std::memcpy(&logits, &row[i], std::min(kLanes, row.size() - i) * sizeof(float));
    const Floats weights = exponential((logits - largest) * scale);
    put(i, weights);
    sum += (weights[0] + weights[1]) + (weights[2] + weights[3]);
  }
  return sum;
}

}  // namespace

double sum_of(std::span<const float> values) {
  std::array<Floats, kUnrolled> sums{};
  const size_t whole = values.size() / kStep * kStep;
  for (size_t i = 0; i < whole; i += kStep) {
    for (size_t j = 0; j < kUnrolled; ++j) sums[j] += load(&values[i + j * kLanes]);
  }
  const Floats all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double sum = (all[0] + all[1]) + (all[2] + all[3]);
  for (size_t i = whole; i < values.size(); ++i) sum += values[i];
  return sum;
}

int32_t index_of_largest(std::span<const float> row) {
  // The largest of each run first, then its place in the first run that has it.
  float largest = -std::numeric_limits<float>::infinity();
  size_t start = 0;
  size_t i = 0;
  const size_t whole = row.size() / kStep * kStep;
  while (i < whole) {
    const size_t begin = i;
    const size_t end = std::min(whole, i + kRun);
    std::array<Floats, kUnrolled> most;
    most.fill(Floats{} - std::numeric_limits<float>::infinity());
    for (; i < end; i += kStep) {
      for (size_t j = 0; j < kUnrolled; ++j) {
        const Floats values = load(&row[i + j * kLanes]);
        most[j] = values > most[j] ? values : most[j];
      }
    }
    float here = most[0][0];
    for (const Floats& four : most) {
      for (size_t lane = 0; lane < kLanes; ++lane) here = std::max(here, four[lane]);
    }
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
  return sum_exponentials(row, largest, scale, [&](size_t i, const Floats& four) {
    std::memcpy(&weights[i], &four, std::min(kLanes, weights.size() - i) * sizeof(float));
  });
}

double sum_of_exponentials(std::span<const float> row, float largest, float scale) {
  return sum_exponentials(row, largest, scale, [](size_t, const Floats&) {});
}

}  // namespace ridge::generate
