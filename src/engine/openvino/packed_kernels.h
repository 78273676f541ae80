// Products of packed matrices and what lies between, for this CPU's vector registers. With one row of 8 bits AVX-512's
// read the weights at nine tenths of the memory's rate, with many they compute at two thirds (INT8) and half (INT4) of
// the peak of VNNI: benchmarks/results/llm_decode-intel-2c.txt; AVX2's: llm_decode-amd-epyc-2c.txt. Threads are the
// caller's.
#pragma once

#include <cstdint>
#include <span>

#include "engine/openvino/packed_matrix.h"

namespace ridge::engine::openvino {

struct PackedKernels {
  const char* name;
  bool (*runs_here)();
  // rows[row] from values [rows.columns]. Rows may be quantised at the same time.
  void (*quantise)(QuantisedRows& rows, int64_t row, const float* values);
  // Columns kBlockRows · block … of x · matrixᵀ, plus those of `beside` if it is not null: it and the result, which may
  // be the same, are [rows of x, matrix.rows]. Blocks may be computed at the same time.
  void (*multiply_int)(const PackedMatrix& matrix, int64_t block, const QuantisedRows& x, float* result,
                       const float* beside);  // of INT8 or INT4
  void (*multiply_wide)(const PackedMatrix& matrix, int64_t block, const float* x, int64_t rows, float* result,
                        const float* beside);  // of BF16 or FP32; x [rows, matrix.columns]
  // x / √(mean(x²) + ε) · weight (arXiv:1910.07467), and gate = SiLU(gate) · up (arXiv:2002.05202).
  void (*normalise)(std::span<const float> x, const float* weight, float epsilon, float* result);
  void (*gate)(std::span<float> gate, const float* up);
};
extern const PackedKernels kAvx512Kernels;  // AVX-512 VNNI
extern const PackedKernels kAvx2Kernels;

// All that this program has, the fastest first.
std::span<const PackedKernels* const> all_packed_kernels();

// The fastest that this CPU runs; null: none.
const PackedKernels* packed_kernels();

// True if matrices of this form are multiplied here by packed_kernels(), not by OpenVINO. FP32: always, because
// OpenVINO keeps such a constant beside what it makes of it. Others: where the kernels are faster; not with AMX, whose
// peak in INT8 is eight times as high, nor with instructions that no kernel here uses: AVX-VNNI, and AVX-512 without
// VNNI. BF16: where FP32 arithmetic is at least as fast as dot products of BF16, which the CPU may lack and which on
// some run at half the rate: measured once, in some 0.1 ms.
bool packing_pays(WeightFormat form);

}  // namespace ridge::engine::openvino
