// Reads a model's inputs and outputs.
#pragma once

#include <openvino/core/model.hpp>

#include "engine/engine.h"

namespace ridge::engine::openvino::plugin {

// Before it is given fixed shapes. kUnsupported: a tensor's type is unknown to one side, or is a string.
Result<Signature> read_signature(const ov::Model& model);

}  // namespace ridge::engine::openvino::plugin
