// Which tensors exist before a run starts (weights, and results of weights alone), which nodes really run, and how
// weights are stored. Private to cost/.
#pragma once

#include <vector>

#include "base/tensor.h"
#include "model/graph.h"

namespace ridge::cost {

struct Residency {
  // Per tensor
  std::vector<bool> constant;            // a weight, or computed from weights alone when the model is loaded
  std::vector<bool> dequantised;         // made by DequantizeLinear
  std::vector<DataType> stored_type;     // of a weight that was dequantised or converted: the type in the file
  std::vector<int> origin;               // the weight whose values it has in another order or type; itself otherwise
  std::vector<std::vector<int>> scales;  // of a weight that was dequantised: its scales and zero points, also constants
  // Per node
  std::vector<bool> runs;                  // not constant, and its result is used
  std::vector<std::vector<int>> captured;  // tensors that its bodies use by name
};

Residency residency_of(const model::Graph& graph);

}  // namespace ridge::cost
