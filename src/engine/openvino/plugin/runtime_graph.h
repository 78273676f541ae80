// Reads a compiled model's graph: what each layer became.
#pragma once

#include <openvino/runtime/compiled_model.hpp>
#include <vector>

#include "engine/engine.h"
#include "engine/openvino/executed.h"

namespace ridge::engine::openvino::plugin {

// Without constants, inputs and outputs. Throws what OpenVINO throws.
std::vector<ExecutedLayer> executed_layers(const ov::CompiledModel& model);

// The same layers with the types and shapes that they take and give, and the model's own nodes that each computes.
std::vector<NodeTime> described_layers(const ov::CompiledModel& model);

}  // namespace ridge::engine::openvino::plugin
