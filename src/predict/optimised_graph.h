// The graph that ONNX Runtime runs in place of a model's own: folded, fused and with new layouts. ONNX Runtime writes
// it in its own process (engine_process.h); stored by the model's content, the engine's version and the machine.
//
// Three queries: the first uses the model with the file's open sizes, because fusions depend on them; the others use
// that optimised graph and return only shapes: as the engine knows them when it loads the file, and with all sizes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/child_process.h"
#include "base/result.h"
#include "base/temporary_folder.h"
#include "model/graph.h"
#include "model/optimised.h"
#include "model/reader.h"
#include "plan/plan.h"

namespace ridge::predict {

struct GraphQuestion {
  plan::Plan plan;      // of ONNX Runtime, with the model's path
  std::string machine;  // machine::Machine::id: blocked layouts depend on it
  std::string folder;   // storage of the answers; empty: none
  std::string program = "/proc/self/exe";
};

// The answers to the first two queries, read once for all sizes. One thread.
class EngineGraph {
 public:
  // `limits`: of each query. Errors: the engine is missing, refuses the model, crashes, or reaches a limit.
  static Result<EngineGraph> ask(const model::UnboundModel& model, const GraphQuestion& question,
                                 const ChildLimits& limits);

  // `bound`: a graph of the model, all open dimensions bound. Shapes unknown to both it and the engine stay unknown.
  Result<model::Graph> at(const model::Graph& bound, const ChildLimits& limits);

  // Results whose shape the engine does not know before it runs; none if it was not asked in vain.
  const std::unordered_set<std::string>& open_results() const { return open_; }

 private:
  EngineGraph(GraphQuestion question, std::string kept, TemporaryFolder folder, model::OptimisedModel optimised)
      : question_(std::move(question)),
        kept_(std::move(kept)),
        folder_(std::move(folder)),
        optimised_(std::move(optimised)) {}
  Result<std::string> shapes_of(const std::function<Status(const std::string& question)>& write_question,
                                const std::string& name, const ChildLimits& limits);
  Result<model::Graph> engine_shapes(const model::Graph& bound, const ChildLimits& limits);

  GraphQuestion question_;
  std::string kept_;  // beginning of the stored answers' paths; empty: nothing is stored
  TemporaryFolder folder_;
  model::OptimisedModel optimised_;
  std::unordered_set<std::string> open_;
  std::map<std::string, model::Graph> shapes_;  // answers to the third query, by sizes
};

// $XDG_CACHE_HOME/ridge/graphs or ~/.cache/ridge/graphs; "" where neither is set.
std::string default_graph_folder();

}  // namespace ridge::predict
