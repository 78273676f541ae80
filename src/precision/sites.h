// Decides which nodes of a model run in integers and which of its tensors are quantised for that. A decision only: nothing is
// changed here.
//
// Heavy nodes (Conv, MatMul, Gemm with constant weights) run in integers wherever they stand. The nodes between them follow
// when all they read is quantised already and their output is read quantised: so chains of convolutions, additions and
// pooling stay in integers, while a transformer's additions and normalisations stay in floating point.
// Source for which patterns an engine fuses: ONNX Runtime, core/optimizer/qdq_transformer/selectors_actions (Conv needs a
// QuantizeLinear right behind it, or behind a Relu or Clip that it makes redundant; MatMul and Gemm do not).
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
  bool quantises_output = false;     // its output must or can be made in integers
};

struct Sites {
  std::vector<Site> all;  // in topological order
  std::set<int> fused;    // nodes of Relu and Clip that belong to the site before them
  std::map<std::string, std::string>
      ranged;             // each quantised activation → the one whose range it takes (itself, or what is
                          // before operators that only move values)
  std::vector<int> kept;  // heavy nodes left in floating point because they are excluded
};

// `excluded`: nodes that must not become sites, besides options.keep_nodes.
Sites find_sites(PassModel& model, const QuantiseOptions& options, const std::set<int>& excluded = {});

// Of a heavy node: the constant input that has its weights, the axis of its output channels and so on; nullopt where it is
// none or has no integer form.
std::optional<Site> heavy_site(PassModel& model, int node, const QuantiseOptions& options);

}  // namespace ridge::precision
