// Kernels that no calibration times by themselves, taken apart into kernels that it does: recurrent layers, attention,
// transposed convolutions, products of integers. The steps are those of ONNX Runtime's CPU provider; each function names its source. Pure.
#pragma once

#include <vector>

#include "predict/executed_kernels.h"

namespace ridge::predict {

// Empty: the kernel is timed as it is, or its sizes are not known. `integer_share` as in EngineTraits.
std::vector<ExecutedKernel> steps_of(const Kernel& kernel, double integer_share);

// EngineTraits::integer_share from the peaks of both types [FLOP/s]. On an AMD EPYC with AVX-512 VNNI, whose ratio of peaks is
// 4, ONNX Runtime 1.31.1 ran the quantised ResNet-50 2.9 times as fast as in FP32.
double integer_share_of(double fp32_per_s, double int8_per_s);

}  // namespace ridge::predict
