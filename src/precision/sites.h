// Decides which nodes of a model run in integers and which tensors are quantised. Changes nothing.
//
// Heavy nodes (Conv, MatMul, Gemm with constant weights) always run in integers. The nodes between them follow if all
// their inputs are quantised already and their output is read quantised: so chains of convolutions, additions and
// pooling stay in integers, while a transformer's additions and normalisations stay in floating point.
// Source for the patterns that an engine fuses: ONNX Runtime, core/optimizer/qdq_transformer/selectors_actions (Conv
// needs a QuantizeLinear directly behind it, or behind a Relu or Clip that it makes redundant; MatMul and Gemm do not).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "precision/pass_model.h"
#include "precision/quantise.h"

namespace ridge::precision {

// A node that runs in integers.
struct Site {
  int node = 0;
  bool heavy = false;
  std::vector<int> activations;      // which of its inputs are quantised activations
  std::string weight;                // constant input 1 of a heavy node, "" if it is an activation
  int weight_axis = 0;               // of the output channels
  std::string bias;                  // constant input 2, or ""
  std::vector<std::string> outputs;  // behind a Relu or Clip that the engine fuses
  bool quantises_output = false;     // its output must or can be integers
};

struct Sites {
  std::vector<Site> all;  // in topological order
  std::set<int> fused;    // Relu and Clip nodes fused into the site before them
  std::map<std::string, std::string>
      ranged;             // each quantised activation → the source of its range (itself, or its origin before moves)
  std::vector<int> kept;  // excluded heavy nodes, left in floating point
};

// `excluded`: nodes that must not become sites, besides options.keep_nodes.
Sites find_sites(PassModel& model, const QuantiseOptions& options, const std::set<int>& excluded = {});

// For a heavy node: the constant input with its weights, the axis of its output channels and so on; nullopt if there is
// none or no integer form.
std::optional<Site> heavy_site(PassModel& model, int node, const QuantiseOptions& options);
// MatMul, or a Gemm whose first input is not transposed.
bool is_matrix_product(const onnx::NodeProto& node);

}  // namespace ridge::precision
