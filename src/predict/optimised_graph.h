// The graph that ONNX Runtime runs in place of a model's own: folded, fused and with new layouts. ONNX Runtime writes it in its
// own process (engine_process.h); stored by the model's content, the engine's version and the machine.
//
// Two queries: the first uses the model with the file's open sizes, because fusions depend on them; the second uses that
// optimised graph with all sizes, and returns only shapes.
#pragma once

#include <string>

#include "base/child_process.h"
#include "base/result.h"
#include "model/graph.h"
#include "model/reader.h"
#include "plan/plan.h"

namespace ridge::predict {

struct GraphQuestion {
  plan::Plan plan;      // of ONNX Runtime, with the model's path
  std::string machine;  // machine::Machine::id: blocked layouts depend on it
  std::string folder;   // storage of the answers; empty: none
  ChildLimits limits;   // of each query
  std::string program = "/proc/self/exe";
};

// `bound`: a graph of `model`, all open dimensions bound. Shapes unknown to both it and the engine stay unknown. Errors: the
// engine is missing, refuses the model, crashes, or reaches a limit.
Result<model::Graph> optimised_graph(const model::UnboundModel& model, const model::Graph& bound,
                                     const GraphQuestion& question);

// $XDG_CACHE_HOME/ridge/graphs or ~/.cache/ridge/graphs; "" where neither is set.
std::string default_graph_folder();

}  // namespace ridge::predict
