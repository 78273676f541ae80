// The values in a model file: checks that they exist and match their shapes. A reader of shapes does not need the
// values, so all but small tensors are dropped, and external data is never read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace onnx {
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace ridge::model {

// A tensor whose values were dropped. Until restore() it stands in the model as an empty tensor, which ONNX's checker
// accepts without looking for data.
struct DroppedTensor {
  onnx::TensorProto* tensor;
  std::vector<int64_t> shape;
};

// Errors: sizes that are negative or overflow; fewer or more values than the shape has; external data that is missing,
// too short, or outside `folder`.
Result<std::vector<DroppedTensor>> check_and_drop_data(onnx::ModelProto& model, const std::string& folder);
// Gives the tensors their shapes back (not their values).
void restore_shapes(const std::vector<DroppedTensor>& dropped);

}  // namespace ridge::model
