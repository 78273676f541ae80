// What ONNX Runtime allocates for a model on a CPU: the steps that it runs with the tensors that they read, write and overwrite,
// and what it does to weights while it loads them. The memory side of fusion.h, whose kernels these steps are; ONNX Runtime
// itself is not asked. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/graph.h"
#include "predict/fusion.h"

namespace ridge::predict {

struct EngineStep {
  std::string op;
  std::vector<int> reads, writes;  // index into EngineGraph::tensors
  bool view = false;               // the first output shows the memory of the first read
  std::vector<int> may_overwrite;  // reads whose memory the first output may take if nothing else needs it
  int64_t workspace_bytes = 0;     // only while it runs
};

struct EngineTensor {
  int64_t bytes = 0;
  int shape = -1;                      // equal numbers, equal shapes; -1: not known
  bool input = false, output = false;  // of the model
};

// Weights, in the order in which loading works on them. `id`: index into EngineGraph::tensors, or beyond for those of bodies.
struct EngineWeight {
  int id = 0;
  int64_t bytes = 0;        // before
  int64_t after_bytes = 0;  // in the new form
  int from = -1;            // made of this weight; -1: of itself
  int64_t aside_bytes = 0;  // packed: a copy turned round, held only while it is packed
};
struct EngineWeights {
  std::vector<EngineWeight> stored;    // as the file has them
  std::vector<EngineWeight> computed;  // made by nodes whose inputs are all constant, while loading
  std::vector<EngineWeight> folded;    // of convolutions that take in a normalisation or a factor
  std::vector<EngineWeight> blocked;   // of convolutions, into NCHWc
  std::vector<EngineWeight> packed;    // of products and of convolutions on integers, for the kernel; the old one goes
  bool dequantised = false;            // some have scales and zero points of their own beside them
};

struct EngineGraph {
  std::vector<EngineTensor> tensors;
  std::vector<EngineStep> steps;
  EngineWeights weights;
  int64_t nodes = 0;  // of the file
  bool known = true;  // false: some shapes are unknown; their tensors count as nothing
};

EngineGraph engine_graph(const model::Graph& graph, const EngineTraits& traits);

}  // namespace ridge::predict
