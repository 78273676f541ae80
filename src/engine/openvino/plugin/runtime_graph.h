// Reads a compiled model's graph: its executed layers.
#pragma once

#include <openvino/runtime/compiled_model.hpp>
#include <vector>

#include "engine/engine.h"
#include "engine/openvino/executed.h"

namespace ridge::engine::openvino::plugin {

// Without constants, inputs and outputs. Throws OpenVINO's exceptions.
std::vector<ExecutedLayer> executed_layers(const ov::CompiledModel& model);

// The same layers with the types and shapes of their inputs and outputs, and the model's own nodes that each computes.
std::vector<NodeTime> described_layers(const ov::CompiledModel& model);

}  // namespace ridge::engine::openvino::plugin
