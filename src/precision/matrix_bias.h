// Fuses MatMul and the Add of its bias into one Gemm, so that the bias becomes part of the integer operator.
//
// Required, not only useful: ONNX Runtime's MatMulAddFusion (optimizer level 1) does the same for known shapes, before
// it searches for quantised patterns, and leaves a floating-point Gemm of a MatMul with its DequantizeLinear.
#pragma once

#include "base/result.h"
#include "precision/pass_model.h"

namespace ridge::precision {

// Requires a product with a constant weight and no other reader, and as its input a matrix or at most one open
// dimension besides the last (a Reshape to a matrix before, shared by all products of one tensor, and one back behind).
// The Gemm keeps the MatMul's name and the Add's output. Returns the number of fused nodes.
Result<int> fuse_biases(PassModel& model);

}  // namespace ridge::precision
