// Runs the operators that exporters use to compute shapes (Shape, Gather, Concat, arithmetic, …) on values known before
// the model runs. All other operators, and tensors above a few thousand elements, are skipped.
#pragma once

#include <vector>

#include "base/tensor.h"
#include "model/small_tensor.h"

namespace onnx {
class NodeProto;
}

namespace ridge::model {

struct FoldInput {
  const SmallTensor* value = nullptr;  // null: nothing known, or optional input left out
  const Shape* shape = nullptr;        // null: rank unknown; -1: size unknown
};

// `output_shape`: as inferred, or null. `onnx_type` of the first output, 0 if unknown. Only for nodes of the default
// domain with one output, and Split. Returns one entry per output; an absent entry is not known.
std::vector<std::optional<SmallTensor>> fold(const onnx::NodeProto& node, const std::vector<FoldInput>& inputs,
                                             const Shape* output_shape, int32_t onnx_type);

}  // namespace ridge::model
