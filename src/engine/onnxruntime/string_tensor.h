// String tensors between the wire layout (uint32 length, bytes, …; base/tensor.h) and ONNX Runtime's own strings.
#pragma once

#include "base/tensor.h"
#include "engine/onnxruntime/handles.h"
#include "engine/onnxruntime/library.h"

namespace ridge::engine::onnxruntime {

Result<ValueHandle> string_tensor_from_wire(const Library& library, const TensorView& tensor);
Result<Buffer> string_tensor_to_wire(const Library& library, const OrtValue* value, int64_t count);

}  // namespace ridge::engine::onnxruntime
