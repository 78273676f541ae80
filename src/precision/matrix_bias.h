// Turns MatMul and the Add of its bias into one Gemm, so that the bias becomes part of the integer operator.
//
// Needed, not only useful: ONNX Runtime's MatMulAddFusion (optimizer level 1) does the same where it knows the shape, before it
// looks for quantised patterns, and leaves a floating-point Gemm of a MatMul that has its DequantizeLinear.
#pragma once

#include "base/result.h"
#include "precision/pass_model.h"

namespace ridge::precision {

// Where the product has a constant weight, goes nowhere else, and its input is a matrix or has at most one open dimension
// besides the last (a Reshape to a matrix before, shared by all products of one tensor, and one back behind). The Gemm keeps the
// MatMul's name and the Add's output. Returns how many there were.
Result<int> fuse_biases(PassModel& model);

}  // namespace ridge::precision
