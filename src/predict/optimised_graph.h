// The graph that ONNX Runtime runs in place of a model's own: what it folds, fuses and lays out again. Asked of ONNX Runtime, which writes it
// in a process of its own (engine_process.h); kept for later by the content of the model, the engine's version and the machine.
//
// Two questions: the first has the model as its file has it, sizes open that the file leaves open, because fusions depend on it; the
// second has that optimised graph with all sizes, and asks only for shapes.
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
  std::string machine;  // machine::Machine::id: blocked layouts are its own
  std::string folder;   // where answers are kept; empty: nowhere
  ChildLimits limits;   // of each question
  std::string program = "/proc/self/exe";
};

// `bound`: a graph of `model`, all open dimensions bound. Shapes that neither it nor the engine knows stay unknown. Errors: the engine is
// not there, refuses the model, crashes, or reaches a limit.
Result<model::Graph> optimised_graph(const model::UnboundModel& model, const model::Graph& bound,
                                     const GraphQuestion& question);

// $XDG_CACHE_HOME/ridge/graphs or ~/.cache/ridge/graphs; "" where neither is set.
std::string default_graph_folder();

}  // namespace ridge::predict
