// A Session on ONNX Runtime, through its C API.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace ridge::engine::onnxruntime {

Result<std::unique_ptr<Session>> open_session(const plan::Plan& plan);

}  // namespace ridge::engine::onnxruntime
