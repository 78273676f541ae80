// packed_kernels.h with AVX2.
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/openvino/packed_kernels.h"

#define RIDGE_TARGET __attribute__((target("avx2,fma,f16c")))

namespace ridge::engine::openvino {
namespace {

constexpr int kLanes = 8;
using Floats = __m256;
using Ints = __m256i;

// Whose sums of BF16 or dot products of INT8 fit the 16 registers; one row is read in four streams, but for INT4, whose
// scales are a stream too. Measured on an AMD EPYC, as the prefetch: benchmarks/results/llm_decode-amd-epyc-2c.txt.
constexpr int kMostRows = 6, kMostWideRows = 5;
constexpr int panels_of(bool four, int rows) { return rows == 1 && !four ? 4 : 1; }
constexpr int together_of(bool four, int registers) { return four ? kPanelRows / kLanes : registers == 8 ? 8 : 1; }
constexpr int wide_panels_of(int rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }

constexpr bool kReadsIntsAhead = true;

RIDGE_TARGET inline Floats all(float value) { return _mm256_set1_ps(value); }
RIDGE_TARGET inline Floats load(const float* from) { return _mm256_loadu_ps(from); }
RIDGE_TARGET inline Ints load_ints(const std::byte* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
RIDGE_TARGET inline Floats load_fp16(const std::byte* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
// Loads the first `count` values; others are 0, or left as they are.
RIDGE_TARGET inline Ints first_lanes(int64_t count) {
  const auto some = static_cast<int>(std::clamp<int64_t>(count, 0, kLanes));
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(some), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
RIDGE_TARGET inline Floats load_first(const float* from, int64_t count) {
  return count >= kLanes ? load(from) : _mm256_maskload_ps(from, first_lanes(count));
}
RIDGE_TARGET inline void store_first(Floats values, int64_t count, float* to) {
  if (count >= kLanes)
    _mm256_storeu_ps(to, values);
  else
    _mm256_maskstore_ps(to, first_lanes(count), values);
}

RIDGE_TARGET inline Floats multiply_add(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
RIDGE_TARGET inline Floats greater(Floats a, Floats b) { return _mm256_max_ps(a, b); }
RIDGE_TARGET inline Floats less(Floats a, Floats b) { return _mm256_min_ps(a, b); }
RIDGE_TARGET inline Floats absolute(Floats a) { return _mm256_andnot_ps(all(-0.0F), a); }
RIDGE_TARGET inline float greatest(Floats a) {
  __m128 most = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  most = _mm_max_ps(most, _mm_movehl_ps(most, most));
  return _mm_cvtss_f32(_mm_max_ss(most, _mm_movehdup_ps(most)));
}
RIDGE_TARGET inline Floats rounded(Floats a) {
  return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
RIDGE_TARGET inline Floats to_floats(Ints a) { return _mm256_cvtepi32_ps(a); }
RIDGE_TARGET inline Ints to_ints(Floats a) { return _mm256_cvtps_epi32(a); }
// In two steps, whose powers are normal numbers; |exponent| ≤ 250.
RIDGE_TARGET inline Floats times_power_of_2(Floats a, Floats exponent) {
  const Ints whole = to_ints(exponent), half = _mm256_srai_epi32(whole, 1), bias = _mm256_set1_epi32(127);
  for (const Ints part : {half, _mm256_sub_epi32(whole, half)})
    a *= _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(part, bias), 23));
  return a;
}

RIDGE_TARGET inline Floats as_floats(Ints bits) { return _mm256_castsi256_ps(bits); }
RIDGE_TARGET inline Floats lower_bf16(Ints pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)); }
RIDGE_TARGET inline Floats upper_bf16(Ints pairs) {
  return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int>(0xFFFF0000))));
}

RIDGE_TARGET inline Ints lower_halves(Ints bytes) { return _mm256_and_si256(bytes, _mm256_set1_epi8(15)); }
RIDGE_TARGET inline Ints upper_halves(Ints bytes) { return lower_halves(_mm256_srli_epi16(bytes, 4)); }
RIDGE_TARGET inline Ints all_ints(int32_t value) { return _mm256_set1_epi32(value); }

// A dot product of a group: before its first quad; with one quad more; and whole. Products of bytes are summed in pairs
// to 16 bits, which saturate. INT8: pairs of |weight| and the activation with the weight's sign, at most 128 · 127 · 2
// = 32512, are widened at once. INT4 is summed in 16 bits: of a lane's two sums one begins with -8 · (the activations'
// sum), and each of the 32 columns gives it -8 · a or, once it is added, (w - 8) · a: at most 32 · 8 · 127 = 32512; the
// other is at most 16 · 15 · 127 = 30480.
template <bool kFour>
RIDGE_TARGET inline Ints no_dot(int32_t sum) {
  return _mm256_set1_epi32(kFour ? (-kInt4Zero * sum) & 0xFFFF : 0);
}
template <bool kFour>
RIDGE_TARGET inline Ints add_dot(Ints dot, Ints weights, Ints quad) {
  if (kFour) return _mm256_add_epi16(dot, _mm256_maddubs_epi16(weights, quad));
  const Ints is_signed = _mm256_xor_si256(weights, _mm256_set1_epi8(-128));
  const Ints pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(is_signed), _mm256_sign_epi8(quad, is_signed));
  return _mm256_add_epi32(dot, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
template <bool kFour>
RIDGE_TARGET inline Ints whole_dot(Ints dot) {
  return kFour ? _mm256_madd_epi16(dot, _mm256_set1_epi16(1)) : dot;
}

// To signed bytes, saturated.
RIDGE_TARGET inline void store_bytes(const Ints (&integers)[4], int8_t* to) {
  const Ints low = _mm256_packs_epi32(integers[0], integers[1]), high = _mm256_packs_epi32(integers[2], integers[3]);
  const Ints bytes =
      _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
}
RIDGE_TARGET inline int32_t sum_of(const Ints (&integers)[4]) {
  const Ints sums =
      _mm256_add_epi32(_mm256_add_epi32(integers[0], integers[1]), _mm256_add_epi32(integers[2], integers[3]));
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1)));
}

}  // namespace
}  // namespace ridge::engine::openvino

#include "engine/openvino/packed_tiles.h"

namespace ridge::engine::openvino {

constinit const PackedKernels kAvx2Kernels{
    "AVX2",        [] { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); },
    quantise,      multiply_int,
    multiply_wide, normalise,
    gate};

}  // namespace ridge::engine::openvino

#endif
