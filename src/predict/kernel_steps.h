// Decomposes kernels without calibration into calibrated ones: recurrent layers, attention, transposed convolutions, integer
// matrix multiplications. The steps are those of ONNX Runtime's CPU provider; each function names its source. Pure.
#pragma once

#include <vector>

#include "predict/executed_kernels.h"

namespace ridge::predict {

// Empty: the kernel is timed directly, or its sizes are unknown. `integer_share` as in executed_kernels.h.
std::vector<ExecutedKernel> steps_of(const Kernel& kernel, double integer_share);

// The integer share from the peaks of both types [FLOP/s]. On an AMD EPYC with AVX-512 VNNI, with a ratio of peaks of 4, ONNX
// Runtime 1.31.1 ran the quantised ResNet-50 2.9 times as fast as in FP32.
double integer_share_of(double fp32_per_s, double int8_per_s);

}  // namespace ridge::predict
