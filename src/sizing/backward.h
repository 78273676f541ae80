// The tensors that an operator keeps from its forward pass for its gradients: the activations of training.
//
// Uses the column cost::Backward of the operator's row. Pure; knows one node at a time.
#pragma once

#include <optional>
#include <vector>

#include "base/tensor.h"
#include "model/graph.h"

namespace ridge::sizing {

// An input or output of a node, for its gradients.
struct BackwardOperand {
  std::optional<Shape> shape;   // absent: left out, or unknown
  bool wants_gradient = false;  // a trainable weight, or computed from one
};

struct SavedTensors {
  std::vector<size_t> inputs;   // positions in Node::inputs
  std::vector<size_t> outputs;  // positions in Node::outputs
  double mask_bytes = 0;        // masks and indices: no tensor of the graph, independent of the precision
  double extra_elements = 0;    // floating-point values outside the graph's tensors: gates, saved statistics
  bool has_rule = true;         // false: unknown operator; everything is kept, an upper bound
};

// Nothing if no input needs a gradient.
SavedTensors kept_for_backward(const model::Node& node, const std::vector<BackwardOperand>& inputs,
                               const std::vector<BackwardOperand>& outputs);

// True if a gradient passes through the node: not through comparisons, shapes, arg-max, rounding, integer casts.
bool is_differentiable(const model::Node& node);

// True if the first output is the first input reshaped or a part of it: keeping one keeps the other.
bool is_view_in_training(const model::Node& node);

}  // namespace ridge::sizing
