// The kernels of packed_kernels.h over vector registers, which a file declares before it includes this one:
// RIDGE_TARGET, the instructions to use; Floats and Ints, registers of kLanes values of 32 bits, and their functions;
// how many rows and panels a tile has (kMostRows, panels_of, together_of, kMostWideRows, wide_panels_of); and whether
// integers are read ahead (kReadsIntsAhead). Values are finite: with others a group's result is not defined.
#ifndef RIDGE_TARGET
#error "declare the registers first"
#endif

#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "engine/openvino/packed_kernels.h"

namespace ridge::engine::openvino {
namespace {

constexpr int kHalves = kPanelRows / kLanes;    // registers to a line
constexpr int64_t kRegister = kLine / kHalves;  // [bytes]

// The CPU's own prefetching alone reads one row of BF16 at four fifths of the rate (llm_decode-intel-2c.txt, 8).
RIDGE_TARGET void read_ahead(const std::byte* line) {
  constexpr int64_t kLines = 16;
  _mm_prefetch(line + kLines * kLine, _MM_HINT_T0);
}

// Activations of 4 columns, for each lane.
RIDGE_TARGET inline Ints quad(const int8_t* values) {
  int32_t four = 0;
  std::memcpy(&four, values, sizeof four);
  return all_ints(four);
}

RIDGE_TARGET void store(Floats sum, int64_t count, int64_t at, const float* beside, float* result) {
  if (count <= 0) return;
  if (beside != nullptr) sum += load_first(beside + at, count);
  store_first(sum, count, result + at);
}

// kRows rows of x by kPanels panels of the matrix, of which register c of a row's sums is half c % kHalves of panel c /
// kHalves. kTogether registers go through a group at once.
template <bool kFour, bool kGrouped, int kRows, int kPanels>
RIDGE_TARGET void tile(const PackedMatrix& matrix, int64_t panel, const QuantisedRows& x, int64_t row, float* result,
                       const float* beside) {
  constexpr int64_t kBytes = group_bytes(kFour ? WeightFormat::kInt4 : WeightFormat::kInt8);
  constexpr int kRegisters = kPanels * kHalves, kTogether = together_of(kFour, kRegisters);
  static_assert(kRegisters % kTogether == 0);
  const int64_t groups = matrix.groups();
  const std::byte* weights = matrix.values.data() + panel * groups * kBytes;
  const auto* scales = matrix.scales.data();
  const QuantisedRows::Group* activations = x.values.data() + row * groups;
  const int32_t* totals = x.sums.data() + row * groups;
  const float* of_rows = x.scales.data() + row * groups;
  Floats sums[kRows][kRegisters];
  for (auto& of_row : sums)
    for (Floats& sum : of_row) sum = all(0.0F);
  for (int64_t g = 0; g < groups; ++g)
    for (int from = 0; from < kRegisters; from += kTogether) {
      Ints dots[kRows][kTogether];
      for (int r = 0; r < kRows; ++r)
        for (Ints& dot : dots[r]) dot = no_dot<kFour>(totals[r * groups + g]);
      for (int64_t line = 0; line < kBytes / kLine; ++line)
        for (int c = 0; c < kTogether; ++c) {
          const std::byte* at = weights + ((from + c) / kHalves * groups + g) * kBytes + line * kLine;
          if (kReadsIntsAhead && (from + c) % kHalves == 0) read_ahead(at);
          const Ints bytes = load_ints(at + (from + c) % kHalves * kRegister);
          const Ints first = kFour ? lower_halves(bytes) : bytes, second = kFour ? upper_halves(bytes) : bytes;
          for (int r = 0; r < kRows; ++r) {
            const int8_t* of_row = activations[r * groups + g].values + line * kQuad;
            dots[r][c] = add_dot<kFour>(dots[r][c], first, quad(of_row));
            if (kFour) dots[r][c] = add_dot<kFour>(dots[r][c], second, quad(of_row + kInt4Group / 2));
          }
        }
      for (int c = 0; c < kTogether; ++c) {
        const int64_t lane = ((panel + (from + c) / kHalves) * groups + g) * kPanelRows + (from + c) % kHalves * kLanes;
        const Floats scale = kGrouped ? load_fp16(scales + lane * 2) : all(1);
        for (int r = 0; r < kRows; ++r) {
          const Floats of_row = all(of_rows[r * groups + g]);
          Floats& sum = sums[r][from + c];
          sum = multiply_add(to_floats(whole_dot<kFour>(dots[r][c])), kGrouped ? scale * of_row : of_row, sum);
        }
      }
    }
  for (int c = 0; c < kRegisters; ++c) {
    const int64_t first = panel * kPanelRows + c * kLanes;
    for (int r = 0; r < kRows; ++r) {
      Floats sum = sums[r][c];
      if (!kGrouped) sum *= load(reinterpret_cast<const float*>(scales) + first);
      store(sum, matrix.rows - first, (row + r) * matrix.rows + first, beside, result);
    }
  }
}

// Reads FP32, or BF16, of which 32 bits hold a pair of columns; FP32 is BF16 with 16 more bits.
template <bool kPairs, int kRows, int kPanels>
RIDGE_TARGET void wide_tile(const PackedMatrix& matrix, int64_t panel, const float* x, float* result,
                            const float* beside) {
  constexpr int kRegisters = kPanels * kHalves;
  constexpr int64_t kOfLine = kPairs ? 2 : 1, kAtOnce = 4;  // columns
  const int64_t columns = matrix.columns;
  const int64_t panel_bytes = matrix.groups() * group_bytes(kPairs ? WeightFormat::kBf16 : WeightFormat::kFp32);
  const std::byte* weights = matrix.values.data() + panel * panel_bytes;
  Floats sums[kRows][kRegisters];
  for (auto& of_row : sums)
    for (Floats& sum : of_row) sum = all(0.0F);
  const auto add = [&](int64_t column, int64_t count) RIDGE_TARGET {
#pragma GCC unroll 4
    for (int64_t i = 0; i < count; ++i) {
      Floats values[kRegisters];
      for (int c = 0; c < kRegisters; ++c) {
        const std::byte* line = weights + c / kHalves * panel_bytes + (column / kOfLine + i / kOfLine) * kLine;
        if (c % kHalves == 0 && i % kOfLine == 0) read_ahead(line);
        const Ints bits = load_ints(line + c % kHalves * kRegister);
        values[c] = !kPairs ? as_floats(bits) : i % 2 == 0 ? lower_bf16(bits) : upper_bf16(bits);
      }
      for (int r = 0; r < kRows; ++r) {
        const Floats of_row = all(x[r * columns + column + i]);
        for (int c = 0; c < kRegisters; ++c) sums[r][c] = multiply_add(values[c], of_row, sums[r][c]);
      }
    }
  };
  int64_t column = 0;
  for (; column + kAtOnce <= columns; column += kAtOnce) add(column, kAtOnce);
  add(column, columns - column);
  for (int c = 0; c < kRegisters; ++c) {
    const int64_t first = panel * kPanelRows + c * kLanes;
    for (int r = 0; r < kRows; ++r) store(sums[r][c], matrix.rows - first, r * matrix.rows + first, beside, result);
  }
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

// Calls tile(first panel) for each piece of a block.
template <int kPanels, typename Tile>
void in_panels(int64_t block, const Tile& tile) {
  constexpr int64_t kOfBlock = kBlockRows / kPanelRows;
  static_assert(kOfBlock % kPanels == 0);
  for (int64_t panel = 0; panel < kOfBlock; panel += kPanels) tile(block * kOfBlock + panel);
}

template <bool kFour, bool kGrouped>
void multiply_rows(const PackedMatrix& matrix, int64_t block, const QuantisedRows& x, float* result,
                   const float* beside) {
  in_row_pieces<kMostRows>(x.rows, [&]<int kRows>(int64_t row) {
    constexpr int kPanels = panels_of(kFour, kRows);
    in_panels<kPanels>(
        block, [&](int64_t panel) { tile<kFour, kGrouped, kRows, kPanels>(matrix, panel, x, row, result, beside); });
  });
}

void multiply_int(const PackedMatrix& matrix, int64_t block, const QuantisedRows& x, float* result,
                  const float* beside) {
  assert(x.groups == matrix.groups());
  if (matrix.form == WeightFormat::kInt4) return multiply_rows<true, true>(matrix, block, x, result, beside);
  if (matrix.grouped) return multiply_rows<false, true>(matrix, block, x, result, beside);
  return multiply_rows<false, false>(matrix, block, x, result, beside);
}

template <bool kPairs>
void multiply_wide_rows(const PackedMatrix& matrix, int64_t block, const float* x, int64_t rows, float* result,
                        const float* beside) {
  in_row_pieces<kMostWideRows>(rows, [&]<int kRows>(int64_t row) {
    constexpr int kPanels = wide_panels_of(kRows);
    in_panels<kPanels>(block, [&](int64_t panel) {
      wide_tile<kPairs, kRows, kPanels>(matrix, panel, x + row * matrix.columns, result + row * matrix.rows,
                                        beside == nullptr ? nullptr : beside + row * matrix.rows);
    });
  });
}

void multiply_wide(const PackedMatrix& matrix, int64_t block, const float* x, int64_t rows, float* result,
                   const float* beside) {
  assert(matrix.is_wide());
  if (matrix.form == WeightFormat::kBf16) return multiply_wide_rows<true>(matrix, block, x, rows, result, beside);
  multiply_wide_rows<false>(matrix, block, x, rows, result, beside);
}

// Least largest value of a group: below it, 127 / largest is not finite.
constexpr float kLeast = 1e-36F;

RIDGE_TARGET void quantise(QuantisedRows& rows, int64_t row, const float* values) {
  constexpr size_t kRegisters = kInt4Group / kLanes;
  for (int64_t g = 0; g < rows.groups; ++g) {
    Floats parts[kRegisters];
    Floats most = all(0.0F);
    for (size_t i = 0; i < kRegisters; ++i) {
      const int64_t at = g * kInt4Group + static_cast<int64_t>(i) * kLanes;
      parts[i] = load_first(values + at, rows.columns - at);
      most = greater(most, absolute(parts[i]));
    }
    const float largest = greatest(most);
    const Floats inverse = all(largest > kLeast ? 127 / largest : 0);
    Ints integers[kRegisters];
    for (size_t i = 0; i < kRegisters; ++i) integers[i] = to_ints(parts[i] * inverse);
    const auto at = static_cast<size_t>(row * rows.groups + g);
    store_bytes(integers, rows.values[at].values);
    rows.scales[at] = largest / 127;
    rows.sums[at] = sum_of(integers);
  }
}

// eˣ to some 2 units of the last place: Cephes, expf.c.
RIDGE_TARGET Floats exponential(Floats x) {
  const Floats limit = all(104);
  x = greater(all(0) - limit, less(limit, x));  // NaN stays
  const Floats n = rounded(x * all(1.44269504F));
  Floats r = multiply_add(n, all(-0.693359375F), x);
  r = multiply_add(n, all(2.12194440e-4F), r);
  Floats sum = all(1.9875691500e-4F);
  for (const float factor : {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 0.5F, 1.0F, 1.0F})
    sum = multiply_add(sum, r, all(factor));
  return times_power_of_2(sum, n);
}

RIDGE_TARGET void normalise(std::span<const float> x, const float* weight, float epsilon, float* result) {
  const auto count = static_cast<int64_t>(x.size());
  Floats squares = all(0.0F);
  for (int64_t i = 0; i < count; i += kLanes) {
    const Floats values = load_first(x.data() + i, count - i);
    squares = multiply_add(values, values, squares);
  }
  std::array<float, kLanes> sums;
  store_first(squares, kLanes, sums.data());
  const float mean = std::accumulate(sums.begin(), sums.end(), 0.0F) / static_cast<float>(count);
  const Floats inverse = all(1 / std::sqrt(mean + epsilon));
  for (int64_t i = 0; i < count; i += kLanes)
    store_first(load_first(x.data() + i, count - i) * inverse * load_first(weight + i, count - i), count - i,
                result + i);
}

RIDGE_TARGET void gate(std::span<float> gate, const float* up) {
  const auto count = static_cast<int64_t>(gate.size());
  for (int64_t i = 0; i < count; i += kLanes) {
    const Floats x = load_first(gate.data() + i, count - i);
    const Floats silu = x / (all(1) + exponential(all(0) - x));
    store_first(silu * load_first(up + i, count - i), count - i, gate.data() + i);
  }
}

}  // namespace
}  // namespace ridge::engine::openvino
