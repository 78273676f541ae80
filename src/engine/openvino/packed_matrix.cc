#include "engine/openvino/packed_matrix.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "engine/openvino/instruction_sets.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ridge::engine::openvino {
namespace {

constexpr int64_t kPanelRows = 16;  // FP32 values of a register
constexpr int64_t kQuad = 4;        // columns that one dot product sums
constexpr int64_t kQuads = kInt4Group / kQuad;
constexpr int64_t kLine = kPanelRows * kQuad;  // [bytes] of a register

// [bytes] of 16 rows.
int64_t group_bytes(WeightForm form) {
  const int64_t values = kPanelRows * kInt4Group;
  return form == WeightForm::kBf16 ? 2 * values : form == WeightForm::kInt8 ? values : values / 2;
}

}  // namespace

QuantisedRows::QuantisedRows(int64_t rows, int64_t columns)
    : rows_(rows),
      columns_(columns),
      groups_((columns + kInt4Group - 1) / kInt4Group),
      values_(static_cast<size_t>(rows * groups_)),
      scales_(values_.size()),
      sums_(values_.size()) {}

#if defined(__x86_64__)

#define RIDGE_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace {

// One row's group to its lane of the group's lines: 4 bytes in each.
void put(std::span<const uint32_t> quads, std::byte* group, int64_t lane) {
  for (size_t i = 0; i < quads.size(); ++i)
    std::memcpy(group + static_cast<int64_t>(i) * kLine + lane * kQuad, &quads[i], sizeof quads[i]);
}

// Pairs of columns, the first in the lower half.
void put_bf16(const std::byte* row, int64_t columns, std::byte* group, int64_t lane) {
  std::array<uint32_t, kInt4Group / 2> pairs = {};
  std::memcpy(pairs.data(), row, static_cast<size_t>(std::min(columns, kInt4Group)) * sizeof(uint16_t));
  put(pairs, group, lane);
}

void put_int8(const std::byte* row, int64_t columns, std::byte* group, int64_t lane) {
  std::array<uint32_t, kQuads> quads = {};
  std::memcpy(quads.data(), row, static_cast<size_t>(std::min(columns, kInt4Group)));
  for (uint32_t& quad : quads) quad ^= 0x80808080;  // signed + 128
  put(quads, group, lane);
}

// Two quads in each: one in the lower halves of the bytes, the one half a group behind it in the upper.
void put_int4(const std::byte* row, std::byte* group, int64_t lane) {
  const __m128i half = _mm_set1_epi8(15);
  const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row));
  const __m128i even = _mm_and_si128(packed, half), odd = _mm_and_si128(_mm_srli_epi16(packed, 4), half);
  const __m128i first = _mm_unpacklo_epi8(even, odd), second = _mm_unpackhi_epi8(even, odd);
  std::array<uint32_t, kQuads / 2> quads;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(quads.data()), _mm_or_si128(first, _mm_slli_epi16(second, 4)));
  put(quads, group, lane);
}

// The scales of a panel's groups in FP16: [row, group] to [group, row].
RIDGE_VNNI void put_scales(const float* scales, int64_t groups, std::byte* to) {
  for (int64_t g = 0; g < groups; ++g) {
    std::array<float, kPanelRows> of_group;
    for (int64_t lane = 0; lane < kPanelRows; ++lane) of_group[static_cast<size_t>(lane)] = scales[lane * groups + g];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to) + g,
                        _mm512_cvtps_ph(_mm512_loadu_ps(of_group.data()), _MM_FROUND_TO_NEAREST_INT));
  }
}

// Rows of a panel as form_rows() writes them.
void pack_panel(PackedMatrix& packed, int64_t panel, const std::byte* rows, int64_t row_bytes, const float* scales) {
  const int64_t groups = packed.groups();
  std::byte* to = packed.values.data() + panel * groups * group_bytes(packed.form);
  for (int64_t g = 0; g < groups; ++g, to += group_bytes(packed.form))
    for (int64_t lane = 0; lane < kPanelRows; ++lane) {
      const std::byte* row = rows + lane * row_bytes;
      const int64_t column = g * kInt4Group, left = packed.columns - column;
      if (packed.form == WeightForm::kBf16)
        put_bf16(row + 2 * column, left, to, lane);
      else if (packed.form == WeightForm::kInt8)
        put_int8(row + column, left, to, lane);
      else
        put_int4(row + column / 2, to, lane);
    }
  if (packed.grouped)
    put_scales(scales, groups, packed.scales.data() + panel * groups * kPanelRows * 2);
  else if (packed.form != WeightForm::kBf16)
    std::memcpy(packed.scales.data() + panel * kPanelRows * 4, scales, kPanelRows * sizeof(float));
}

}  // namespace

PackedMatrix pack_matrix(const checkpoint::Weight& matrix, WeightForm form, int threads) {
  const RowForm row = row_form(matrix, form);
  const bool grouped = row.scales > 1 || form == WeightForm::kInt4;
  PackedMatrix packed{form, matrix.shape[0], matrix.shape[1], {}, grouped, {}};
  const int64_t panels = packed.blocks() * (kBlockRows / kPanelRows);
  packed.values = Buffer(static_cast<size_t>(panels * packed.groups() * group_bytes(form)));
  packed.scales =
      Buffer(static_cast<size_t>(panels * kPanelRows * row.scales) * (grouped ? sizeof(uint16_t) : sizeof(float)));
  in_pieces(panels, kBlockRows / kPanelRows, threads, [&](int64_t begin, int64_t end) {
    std::vector<std::byte> rows(static_cast<size_t>(kPanelRows * row.bytes));
    std::vector<float> scales(static_cast<size_t>(kPanelRows * row.scales));
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * kPanelRows, count = std::clamp<int64_t>(packed.rows - first, 0, kPanelRows);
      form_rows(matrix, form, first, first + count, rows.data(), scales.data());
      std::fill(rows.begin() + count * row.bytes, rows.end(), std::byte{0});
      std::fill(scales.begin() + count * row.scales, scales.end(), 0.0F);
      pack_panel(packed, panel, rows.data(), row.bytes, scales.data());
    }
  });
  return packed;
}

bool can_multiply_packed() {
  return !instruction_sets().amx_bf16 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

RIDGE_VNNI void QuantisedRows::quantise(int64_t row, const float* values) {
  for (int64_t g = 0; g < groups_; ++g) {
    const int64_t left = columns_ - g * kInt4Group;
    const uint32_t mask = left >= kInt4Group ? ~0U : (1U << left) - 1;
    const float* from = values + g * kInt4Group;
    const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from);
    const __m512 high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), from + 16);
    const float largest = _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(low), _mm512_abs_ps(high)));
    const __m512 inverse = _mm512_set1_ps(largest > 0 ? 127 / largest : 0);
    const __m512i a = _mm512_cvtps_epi32(_mm512_mul_ps(low, inverse));
    const __m512i b = _mm512_cvtps_epi32(_mm512_mul_ps(high, inverse));
    const auto at = static_cast<size_t>(row * groups_ + g);
    auto* to = reinterpret_cast<__m128i*>(values_[at].values);
    _mm_storeu_si128(to, _mm512_cvtsepi32_epi8(a));
    _mm_storeu_si128(to + 1, _mm512_cvtsepi32_epi8(b));
    scales_[at] = largest / 127;
    sums_[at] = _mm512_reduce_add_epi32(_mm512_add_epi32(a, b));
  }
}

namespace {

RIDGE_VNNI void store(__m512 sum, __mmask16 mask, int64_t at, const float* beside, float* result) {
  if (beside != nullptr) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, beside + at));
  _mm512_mask_storeu_ps(result + at, mask, sum);
}

// kRows rows of x by kPanels panels of the matrix.
template <bool kFour, bool kGrouped, int kRows, int kPanels>
RIDGE_VNNI void tile(const PackedMatrix& matrix, int64_t panel, const QuantisedRows& x, int64_t row, float* result,
                     const float* beside) {
  const int64_t groups = matrix.groups();
  constexpr int64_t kBytes = kPanelRows * kInt4Group / (kFour ? 2 : 1);
  const std::byte* weights = matrix.values.data() + panel * groups * kBytes;
  const auto* scales = matrix.scales.data();
  __m512 sums[kRows][kPanels];
  for (auto& of_row : sums)
    for (__m512& sum : of_row) sum = _mm512_setzero_ps();
  for (int64_t g = 0; g < groups; ++g) {
    __m512i dots[kRows][kPanels];
    for (int r = 0; r < kRows; ++r)
      for (__m512i& dot : dots[r]) dot = _mm512_set1_epi32((kFour ? -kInt4Zero : -128) * x.sums(row + r)[g]);
    for (int64_t line = 0; line < kBytes / kLine; ++line)
      for (int p = 0; p < kPanels; ++p) {
        const __m512i bytes = _mm512_loadu_si512(weights + (p * groups + g) * kBytes + line * kLine);
        const __m512i half = _mm512_set1_epi8(15);
        const __m512i first = kFour ? _mm512_and_si512(bytes, half) : bytes;
        const __m512i second = kFour ? _mm512_and_si512(_mm512_srli_epi16(bytes, 4), half) : bytes;
        for (int r = 0; r < kRows; ++r) {
          const int8_t* activations = x.values(row + r)[g].values;
          int32_t quad = 0;
          std::memcpy(&quad, activations + line * kQuad, sizeof quad);
          dots[r][p] = _mm512_dpbusd_epi32(dots[r][p], first, _mm512_set1_epi32(quad));
          if (!kFour) continue;
          std::memcpy(&quad, activations + kInt4Group / 2 + line * kQuad, sizeof quad);
          dots[r][p] = _mm512_dpbusd_epi32(dots[r][p], second, _mm512_set1_epi32(quad));
        }
      }
    for (int p = 0; p < kPanels; ++p) {
      __m512 scale = _mm512_set1_ps(1);
      if (kGrouped)
        scale = _mm512_cvtph_ps(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales + ((panel + p) * groups + g) * kPanelRows * 2)));
      for (int r = 0; r < kRows; ++r) {
        const __m512 of_row = _mm512_set1_ps(x.scales(row + r)[g]);
        sums[r][p] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[r][p]), kGrouped ? _mm512_mul_ps(scale, of_row) : of_row,
                                     sums[r][p]);
      }
    }
  }
  for (int p = 0; p < kPanels; ++p) {
    const int64_t first = (panel + p) * kPanelRows, left = std::clamp<int64_t>(matrix.rows - first, 0, kPanelRows);
    const auto mask = static_cast<__mmask16>((1U << left) - 1);
    for (int r = 0; r < kRows; ++r) {
      __m512 sum = sums[r][p];
      if (!kGrouped) sum = _mm512_mul_ps(sum, _mm512_loadu_ps(scales + first * static_cast<int64_t>(sizeof(float))));
      store(sum, mask, (row + r) * matrix.rows + first, beside, result);
    }
  }
}

// A block in pieces whose sums fit the 32 registers.
template <bool kFour, bool kGrouped, int kRows>
void block_of(const PackedMatrix& matrix, int64_t block, const QuantisedRows& x, int64_t row, float* result,
              const float* beside) {
  constexpr int kPanels = kRows <= 3 ? 4 : 2;
  constexpr int64_t kOfBlock = kBlockRows / kPanelRows;
  for (int64_t panel = 0; panel < kOfBlock; panel += kPanels)
    tile<kFour, kGrouped, kRows, kPanels>(matrix, block * kOfBlock + panel, x, row, result, beside);
}

// Calls body with each piece of at most kMost rows: body.operator()<number of rows>(first row).
template <int kMost, typename Body>
void in_row_pieces(int64_t rows, const Body& body) {
  const int64_t pieces = (rows + kMost - 1) / kMost;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t row = rows * piece / pieces, count = rows * (piece + 1) / pieces - row;
    [&]<int... kLess>(std::integer_sequence<int, kLess...>) {
      ((count == kLess + 1 ? body.template operator()<kLess + 1>(row) : void()), ...);
    }(std::make_integer_sequence<int, kMost>());
  }
}

template <bool kFour, bool kGrouped>
void rows_of(const PackedMatrix& matrix, int64_t block, const QuantisedRows& x, float* result, const float* beside) {
  in_row_pieces<6>(x.rows(), [&]<int kRows>(int64_t row) {
    block_of<kFour, kGrouped, kRows>(matrix, block, x, row, result, beside);
  });
}

// With the CPU's own prefetching alone, rows of BF16 are read at four fifths of this rate; those of 8 and 4 bits gain nothing.
constexpr int64_t kLinesAhead = 16;

// Of BF16: a register holds pairs of columns of 16 rows; FP32 is BF16 with 16 more bits.
template <int kRows, int kPanels>
RIDGE_VNNI void wide_tile(const PackedMatrix& matrix, int64_t panel, const float* x, float* result,
                          const float* beside) {
  const int64_t columns = matrix.columns, panel_bytes = matrix.groups() * group_bytes(WeightForm::kBf16);
  const std::byte* weights = matrix.values.data() + panel * panel_bytes;
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
  __m512 sums[kRows][kPanels];
  for (auto& of_row : sums)
    for (__m512& sum : of_row) sum = _mm512_setzero_ps();
  const auto add = [&](int64_t pair, bool both) RIDGE_VNNI {
    __m512 first[kPanels], second[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      const std::byte* line = weights + p * panel_bytes + pair * kLine;
      _mm_prefetch(line + kLinesAhead * kLine, _MM_HINT_T0);
      const __m512i both_halves = _mm512_loadu_si512(line);
      first[p] = _mm512_castsi512_ps(_mm512_slli_epi32(both_halves, 16));
      second[p] = _mm512_castsi512_ps(_mm512_and_si512(both_halves, upper));
    }
    for (int r = 0; r < kRows; ++r) {
      const float* of_row = x + r * columns + 2 * pair;
      const __m512 low = _mm512_set1_ps(of_row[0]);
      for (int p = 0; p < kPanels; ++p) sums[r][p] = _mm512_fmadd_ps(first[p], low, sums[r][p]);
      if (!both) continue;
      const __m512 high = _mm512_set1_ps(of_row[1]);
      for (int p = 0; p < kPanels; ++p) sums[r][p] = _mm512_fmadd_ps(second[p], high, sums[r][p]);
    }
  };
  for (int64_t pair = 0; pair < columns / 2; ++pair) add(pair, true);
  if (columns % 2 != 0) add(columns / 2, false);
  for (int p = 0; p < kPanels; ++p) {
    const int64_t first = (panel + p) * kPanelRows, left = std::clamp<int64_t>(matrix.rows - first, 0, kPanelRows);
    const auto mask = static_cast<__mmask16>((1U << left) - 1);
    for (int r = 0; r < kRows; ++r) store(sums[r][p], mask, r * matrix.rows + first, beside, result);
  }
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

RIDGE_VNNI void wide_products() {
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

void multiply(const PackedMatrix& matrix, int64_t block, const QuantisedRows& x, float* result, const float* beside) {
  assert(x.groups() == matrix.groups());
  if (matrix.form == WeightForm::kInt4) return rows_of<true, true>(matrix, block, x, result, beside);
  if (matrix.grouped) return rows_of<false, true>(matrix, block, x, result, beside);
  return rows_of<false, false>(matrix, block, x, result, beside);
}

void multiply(const PackedMatrix& matrix, int64_t block, const float* x, int64_t rows, float* result,
              const float* beside) {
  assert(matrix.form == WeightForm::kBf16);
  constexpr int64_t kOfBlock = kBlockRows / kPanelRows;
  in_row_pieces<12>(rows, [&]<int kRows>(int64_t row) {
    constexpr int kPanels = kRows <= 6 ? 4 : 2;  // whose sums fit the 32 registers
    for (int64_t panel = 0; panel < kOfBlock; panel += kPanels)
      wide_tile<kRows, kPanels>(matrix, block * kOfBlock + panel, x + row * matrix.columns, result + row * matrix.rows,
                                beside == nullptr ? nullptr : beside + row * matrix.rows);
  });
}

namespace {

// The 16 values from `at` on, of which the last may be missing.
__mmask16 left_of(size_t count, size_t at) {
  return static_cast<__mmask16>(count - at >= 16 ? 0xFFFF : (1U << (count - at)) - 1);
}

// eˣ to some 2 units of the last place: Cephes, expf.c.
RIDGE_VNNI __m512 exponential(__m512 x) {
  const __m512 limit = _mm512_set1_ps(104);
  x = _mm512_max_ps(_mm512_sub_ps(_mm512_setzero_ps(), limit), _mm512_min_ps(limit, x));  // NaN stays
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504F)), 0);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), x);
  r = _mm512_fmadd_ps(n, _mm512_set1_ps(2.12194440e-4F), r);
  __m512 sum = _mm512_set1_ps(1.9875691500e-4F);
  for (const float factor : {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 0.5F, 1.0F, 1.0F})
    sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(factor));
  return _mm512_scalef_ps(sum, n);
}

}  // namespace

RIDGE_VNNI void normalise(std::span<const float> x, const float* weight, float epsilon, float* result) {
  __m512 squares = _mm512_setzero_ps();
  for (size_t i = 0; i < x.size(); i += 16) {
    const __m512 values = _mm512_maskz_loadu_ps(left_of(x.size(), i), x.data() + i);
    squares = _mm512_fmadd_ps(values, values, squares);
  }
  std::array<float, 16> sums;
  _mm512_storeu_ps(sums.data(), squares);
  const float mean = std::accumulate(sums.begin(), sums.end(), 0.0F) / static_cast<float>(x.size());
  const __m512 inverse = _mm512_set1_ps(1 / std::sqrt(mean + epsilon));
  for (size_t i = 0; i < x.size(); i += 16) {
    const __mmask16 mask = left_of(x.size(), i);
    const __m512 normed = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x.data() + i), inverse);
    _mm512_mask_storeu_ps(result + i, mask, _mm512_mul_ps(normed, _mm512_maskz_loadu_ps(mask, weight + i)));
  }
}

RIDGE_VNNI void gate(std::span<float> gate, const float* up) {
  const __m512 one = _mm512_set1_ps(1);
  for (size_t i = 0; i < gate.size(); i += 16) {
    const __mmask16 mask = left_of(gate.size(), i);
    const __m512 x = _mm512_maskz_loadu_ps(mask, gate.data() + i);
    const __m512 power = exponential(_mm512_sub_ps(_mm512_setzero_ps(), x));
    const __m512 silu = _mm512_div_ps(x, _mm512_add_ps(one, power));
    _mm512_mask_storeu_ps(gate.data() + i, mask, _mm512_mul_ps(silu, _mm512_maskz_loadu_ps(mask, up + i)));
  }
}

bool widening_pays() {
  static const bool pays = !instruction_sets().avx512_bf16 || least_time(wide_products) <= least_time(half_products);
  return pays;
}

#else

bool can_multiply_packed() { return false; }
PackedMatrix pack_matrix(const checkpoint::Weight&, WeightForm, int) { std::abort(); }
void QuantisedRows::quantise(int64_t, const float*) { std::abort(); }
void multiply(const PackedMatrix&, int64_t, const QuantisedRows&, float*, const float*) { std::abort(); }
void multiply(const PackedMatrix&, int64_t, const float*, int64_t, float*, const float*) { std::abort(); }
void normalise(std::span<const float>, const float*, float, float*) { std::abort(); }
void gate(std::span<float>, const float*) { std::abort(); }
bool widening_pays() { return false; }

#endif

}  // namespace ridge::engine::openvino
