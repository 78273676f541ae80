// Reads a model's inputs and outputs from an ONNX Runtime session.
#pragma once

#include "engine/engine.h"
#include "engine/onnxruntime/handles.h"
#include "engine/onnxruntime/library.h"

namespace ridge::engine::onnxruntime {

// kUnsupported if an input or output is not a tensor (a sequence, a map, an optional), or of a type the protocol lacks.
Result<Signature> read_signature(const Library& library, const OrtSession* session);

}  // namespace ridge::engine::onnxruntime
