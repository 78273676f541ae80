// Raises a model to a newer opset of ai.onnx, if a pass needs its operators.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace onnx {
class ModelProto;
}

namespace ridge::precision {

// Does nothing if the model is new enough. Uses ONNX's version converter; error: what it cannot convert.
Status raise_opset(onnx::ModelProto& model, int64_t least);

// The IR version that came with an opset: onnx/helper.py, VERSION_TABLE.
int64_t ir_version_of(int64_t opset);

}  // namespace ridge::precision
