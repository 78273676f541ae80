// Weights of which ONNX Runtime's operators (com.microsoft) pack several values into a byte.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "model/graph.h"

namespace ridge::model {

// The values in constant input `i` of the node, which has `elements`: one each, but of packed weights more, and of their scales and zero
// points none.
int64_t values_of(const Node& node, size_t i, DataType type, int64_t elements);

}  // namespace ridge::model
