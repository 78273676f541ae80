// The activations that training keeps, from the graph: which tensors backward needs, their sum, the peak while backward
// runs, and what gradient checkpointing leaves of it.
//
// Not for parameters, gradients of parameters or optimiser states: training.h. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/graph.h"

namespace ridge::sizing {

struct SavedOptions {
  double float_bytes = 4;      // [bytes] per floating-point element: 4 for FP32, 2 for mixed and BF16
  bool adapters_only = false;  // LoRA: only adapters beside the linear layers are trained, all weights are frozen
};

struct SavedActivations {
  double kept_bytes = 0;  // all that forward keeps for backward, each tensor once
  double peak_bytes = 0;  // most of it at one time while backward runs, with the gradients of activations then alive
  // With checkpointing: only the tensors at the cuts are kept; one segment at a time is computed again. By the cuts that
  // make the peak least (Chen et al. 2016, "Training deep nets with sublinear memory cost", section 4).
  double checkpointed_bytes = 0;
  int64_t segments = 1;
  // What is kept, by the operator that needs it, largest first.
  std::vector<std::pair<std::string, double>> by_operator;
  std::vector<std::string> without_rule;  // operators whose inputs and outputs are all kept, an upper bound
};

SavedActivations saved_activations(const model::Graph& graph, const SavedOptions& options = {});

}  // namespace ridge::sizing
