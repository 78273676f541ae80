// The work of a kernel, by the kinds that take an engine time: arithmetic in the tiles of its actual inner loops, data moved
// per level of memory, calls. Each amount is a time in µs at the device's peak rate, so that a coefficient of 1 means "as fast
// as the hardware allows", and coefficients measured on one machine carry over to another.
//
// The inner loops are those of MLAS, ONNX Runtime's library of CPU kernels: convolutions in blocked channels walk rows of the
// output in tiles of outputs × filter blocks (mlas/lib/snchwc.cpp and its assembly), matrix multiplications walk tiles of rows
// × two vectors (sgemm.cpp). Why this form: docs/decisions/0004-calibrated-estimate.md. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cost/costs.h"
#include "predict/kernel.h"

namespace ridge::predict {

// The device as kernels see it.
struct KernelDevice {
  int threads = 1;
  int64_t block = 16;                    // channels per block of the engine's layout; ≤ 1: none
  double flops_per_s = 1e11;             // FP32, of one thread while all `threads` compute
  double near_bytes_per_s = 1e11;        // of L2, one thread
  double far_bytes_per_s = 1e11;         // of the last cache, one thread
  double far_shared_bytes_per_s = 1e11;  // likewise, all threads together
  double dram_bytes_per_s = 1e10;        // all threads together
  double near_capacity_bytes = 1 << 20;  // L2 of one thread
  double far_capacity_bytes = 32 << 20;  // last cache
};

// From measurements with one thread and with all that compute.
KernelDevice kernel_device(const cost::DeviceLimits& one, const cost::DeviceLimits& all, int64_t block);

struct KernelWork {
  struct Term {
    std::string_view name;
    double us = 0;
  };
  std::string kind;           // fitted together: "conv.direct", "gemm", "Softmax"
  std::vector<Term> terms;    // without the constant part, common to all kinds
  std::vector<double> place;  // logarithms of its dimensions: neighbouring kernels have similar errors
};

// `footprint_bytes`: touched by a whole run of the model; weights that do not stay in the last cache until the next run come
// from memory.
KernelWork work_of(const Kernel& kernel, const KernelDevice& device, double footprint_bytes);

// The weights of all kernels and the largest operands of one.
double footprint_of(const std::vector<Kernel>& kernels);

// An operator that only reshapes memory.
bool is_view(const Kernel& kernel);

}  // namespace ridge::predict
