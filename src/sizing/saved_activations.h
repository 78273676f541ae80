// The activations kept by training, from the graph: the tensors that backward needs, their sum, the peak while backward
// runs, and the rest after gradient checkpointing.
//
// For parameters, gradients of parameters and optimiser states see training.h. Pure.
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
  double kept_bytes = 0;  // everything that forward keeps for backward, each tensor once
  double peak_bytes = 0;  // peak while backward runs, with the live gradients of activations
  // Bytes with checkpointing: only the tensors at the cuts are kept; one segment at a time is recomputed. With the cuts
  // of the least peak (Chen et al. 2016, "Training deep nets with sublinear memory cost", section 4).
  double checkpointed_bytes = 0;
  int64_t segments = 1;
  // Kept bytes by operator, largest first.
  std::vector<std::pair<std::string, double>> by_operator;
  std::vector<std::string> without_rule;  // operators with all inputs and outputs kept, an upper bound
};

SavedActivations saved_activations(const model::Graph& graph, const SavedOptions& options = {});

}  // namespace ridge::sizing
