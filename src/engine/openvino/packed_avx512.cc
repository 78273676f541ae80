// packed_kernels.h with AVX-512 VNNI.
#if defined(__x86_64__)

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "engine/openvino/packed_kernels.h"

#define RIDGE_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace ridge::engine::openvino {
namespace {

constexpr int kLanes = 16;
using Floats = __m512;
using Ints = __m512i;

// Whose sums fit the 32 registers.
constexpr int kMostRows = 6, kMostWideRows = 12;
constexpr int panels_of(bool, int rows) { return rows <= 3 ? 4 : 2; }
constexpr int together_of(bool, int registers) { return registers; }
constexpr int wide_panels_of(int rows) { return rows <= 6 ? 4 : 2; }

constexpr bool kReadsIntsAhead = false;  // they gain nothing

RIDGE_TARGET inline Floats all(float value) { return _mm512_set1_ps(value); }
RIDGE_TARGET inline Floats load(const float* from) { return _mm512_loadu_ps(from); }
RIDGE_TARGET inline Ints load_ints(const std::byte* from) { return _mm512_loadu_si512(from); }
RIDGE_TARGET inline Floats load_fp16(const std::byte* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
// Masks the first `count` values; others are 0, or left as they are.
RIDGE_TARGET inline __mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xFFFF : count <= 0 ? 0 : (1U << count) - 1);
}
RIDGE_TARGET inline Floats load_first(const float* from, int64_t count) {
  return _mm512_maskz_loadu_ps(first_lanes(count), from);
}
RIDGE_TARGET inline void store_first(Floats values, int64_t count, float* to) {
  _mm512_mask_storeu_ps(to, first_lanes(count), values);
}

RIDGE_TARGET inline Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
RIDGE_TARGET inline Floats greater(Floats a, Floats b) { return _mm512_max_ps(a, b); }
RIDGE_TARGET inline Floats less(Floats a, Floats b) { return _mm512_min_ps(a, b); }
RIDGE_TARGET inline Floats absolute(Floats a) { return _mm512_abs_ps(a); }
RIDGE_TARGET inline float greatest(Floats a) { return _mm512_reduce_max_ps(a); }
RIDGE_TARGET inline Floats rounded(Floats a) { return _mm512_roundscale_ps(a, 0); }
RIDGE_TARGET inline Floats times_power_of_2(Floats a, Floats exponent) { return _mm512_scalef_ps(a, exponent); }
RIDGE_TARGET inline Floats to_floats(Ints a) { return _mm512_cvtepi32_ps(a); }
RIDGE_TARGET inline Ints to_ints(Floats a) { return _mm512_cvtps_epi32(a); }

RIDGE_TARGET inline Floats as_floats(Ints bits) { return _mm512_castsi512_ps(bits); }
RIDGE_TARGET inline Floats lower_bf16(Ints pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); }
RIDGE_TARGET inline Floats upper_bf16(Ints pairs) {
  return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xFFFF0000))));
}

RIDGE_TARGET inline Ints lower_halves(Ints bytes) { return _mm512_and_si512(bytes, _mm512_set1_epi8(15)); }
RIDGE_TARGET inline Ints upper_halves(Ints bytes) { return lower_halves(_mm512_srli_epi16(bytes, 4)); }
RIDGE_TARGET inline Ints all_ints(int32_t value) { return _mm512_set1_epi32(value); }

// A dot product of a group: before its first quad, with the weights' zero taken off; with one quad more; and whole.
template <bool kFour>
RIDGE_TARGET inline Ints no_dot(int32_t sum) {
  return _mm512_set1_epi32((kFour ? -kInt4Zero : -128) * sum);
}
template <bool kFour>
RIDGE_TARGET inline Ints add_dot(Ints dot, Ints weights, Ints quad) {
  return _mm512_dpbusd_epi32(dot, weights, quad);
}
template <bool kFour>
RIDGE_TARGET inline Ints whole_dot(Ints dot) {
  return dot;
}

// To signed bytes, saturated.
RIDGE_TARGET inline void store_bytes(const Ints (&integers)[2], int8_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtsepi32_epi8(integers[0]));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to) + 1, _mm512_cvtsepi32_epi8(integers[1]));
}
RIDGE_TARGET inline int32_t sum_of(const Ints (&integers)[2]) {
  return _mm512_reduce_add_epi32(_mm512_add_epi32(integers[0], integers[1]));
}

}  // namespace
}  // namespace ridge::engine::openvino

#include "engine/openvino/packed_tiles.h"

namespace ridge::engine::openvino {

constinit const PackedKernels kAvx512Kernels{"AVX-512 VNNI",
                                             [] {
                                               return __builtin_cpu_supports("avx512bw") &&
                                                      __builtin_cpu_supports("avx512vl") &&
                                                      __builtin_cpu_supports("avx512vnni");
                                             },
                                             quantise,
                                             multiply_int,
                                             multiply_wide,
                                             normalise,
                                             gate};

}  // namespace ridge::engine::openvino

#endif
