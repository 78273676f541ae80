// ONNX element types as ours and back.
#pragma once

#include <onnxruntime_c_api.h>

#include "base/tensor.h"

namespace ridge::engine::onnxruntime {

// kInvalid for types that the wire protocol lacks (complex, float8, int4).
DataType to_data_type(ONNXTensorElementDataType type);
ONNXTensorElementDataType to_element_type(DataType type);

}  // namespace ridge::engine::onnxruntime
