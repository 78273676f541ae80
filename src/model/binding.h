// Binds a model's dynamic dimensions to numbers.
#pragma once

#include "base/result.h"
#include "model/reader.h"

namespace onnx {
class ModelProto;
}

namespace ridge::model {

// Rewrites the shapes of the inputs, and every mention of a bound symbol. Errors: names that the model does not have,
// sizes that contradict the file or each other.
Status bind(onnx::ModelProto& model, const Binding& binding);

}  // namespace ridge::model
