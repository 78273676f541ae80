// Graphs that an engine wrote for its own use: fused, with vendor operators, and without shapes between nodes. The
// shapes come from two sources: the graph that the engine started with, by tensor names, and the engine itself, which
// infers them for a second file.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/result.h"
#include "model/graph.h"

namespace onnx {
class ModelProto;
}

namespace ridge::model {

// Read once. Immutable; copies share the data.
class OptimisedModel {
 public:
  // Without checker or inference.
  static Result<OptimisedModel> read(const std::string& path);
  const Graph& graph() const { return graph_; }  // shapes only where the file has them

  // Writes it as a model whose shapes an engine infers when it opens it without optimising: sizes of inputs, and of all
  // tensors that it shares with `bound`, filled in; weights stored in other files become inputs, since only shapes
  // matter; and all other tensors are listed, so that the engine's own copy of the file lists them with their shapes.
  Status write_shape_question(const Graph& bound, const std::string& question) const;
  // The same without sizes, with the shapes that `file`, the model's own, declares.
  Status write_open_question(const onnx::ModelProto& file, const std::string& question) const;

 private:
  OptimisedModel(std::shared_ptr<const onnx::ModelProto> proto, Graph graph)
      : proto_(std::move(proto)), graph_(std::move(graph)) {}

  std::shared_ptr<const onnx::ModelProto> proto_;
  Graph graph_;
};

// For a graph whose shapes are not asked.
Result<Graph> read_optimised(const std::string& path);

// Reads the answer to a question without sizes: results of nodes of which a size has neither a number nor a name. An
// engine does not know before it runs which other results have their shape.
Result<std::unordered_set<std::string>> read_open_results(const std::string& path);

// Gives tensors of `graph` that lack them the type, shape and constant values of the tensor of that name in `from`;
// bodies of loops and branches likewise. A name with several shapes in `from` is ignored.
void complete_shapes(Graph& graph, const Graph& from);

// True if every result of a node, in bodies too, has all its sizes.
bool has_all_shapes(const Graph& graph);

}  // namespace ridge::model
