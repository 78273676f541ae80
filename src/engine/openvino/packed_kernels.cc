#include "engine/openvino/packed_kernels.h"

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "engine/openvino/instruction_sets.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ridge::engine::openvino {

#if defined(__x86_64__)

std::span<const PackedKernels* const> all_packed_kernels() {
  static constexpr std::array<const PackedKernels*, 2> kAll = {&kAvx512Kernels, &kAvx2Kernels};
  return kAll;
}

namespace {

const PackedKernels* fastest() {
  const auto all = all_packed_kernels();
  const auto found = std::ranges::find_if(all, [](const PackedKernels* kernels) { return kernels->runs_here(); });
  return found == all.end() ? nullptr : *found;
}

bool uses_what_the_cpu_has(const PackedKernels& kernels) {
  const InstructionSets sets = instruction_sets();
  if (sets.amx_bf16) return false;
  return &kernels == &kAvx512Kernels || !(__builtin_cpu_supports("avx512f") || sets.avx_vnni);
}

// The least time of some tries: what else the machine does only adds to it.
Nanoseconds least_time(void (*products)()) {
  Nanoseconds least = Nanoseconds::max();
  for (int i = 0; i < 9; ++i) {
    const TimePoint begin = SteadyClock::now();
    products();
    least = std::min(least, Nanoseconds(SteadyClock::now() - begin));
  }
  return least;
}

// Sums that do not wait for each other; both functions multiply equally many pairs of values.
constexpr int kSums = 8, kRounds = 1000;

__attribute__((target("avx512f"))) void wide_products() {
  __m512 sums[kSums] = {};
  const __m512 one = _mm512_set1_ps(1);
  for (int i = 0; i < 2 * kRounds; ++i)
    for (__m512& sum : sums) {
      sum = _mm512_fmadd_ps(one, one, sum);
      asm volatile("" : "+v"(sum));
    }
}

__attribute__((target("avx512f,avx512bf16"))) void half_products() {
  __m512 sums[kSums] = {};
  const __m512bh ones = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3F803F80));
  for (int i = 0; i < kRounds; ++i)
    for (__m512& sum : sums) {
      sum = _mm512_dpbf16_ps(sum, ones, ones);
      asm volatile("" : "+v"(sum));
    }
}

}  // namespace

const PackedKernels* packed_kernels() {
  static const PackedKernels* const kernels = fastest();
  return kernels;
}

bool packing_pays(WeightFormat form) {
  const PackedKernels* kernels = packed_kernels();
  if (kernels == nullptr || form == WeightFormat::kFp16) return false;
  if (form == WeightFormat::kFp32) return true;
  if (!uses_what_the_cpu_has(*kernels)) return false;
  if (form != WeightFormat::kBf16 || kernels != &kAvx512Kernels || !instruction_sets().avx512_bf16) return true;
  static const bool widening_pays = least_time(wide_products) <= least_time(half_products);
  return widening_pays;
}

#else

std::span<const PackedKernels* const> all_packed_kernels() { return {}; }
const PackedKernels* packed_kernels() { return nullptr; }
bool packing_pays(WeightFormat) { return false; }

#endif

}  // namespace ridge::engine::openvino
