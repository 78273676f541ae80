// A graph while it is being rewritten: nodes are taken out, merged and added, and who makes and uses a tensor stays known.
// Private to plan/; fusion.h is what others call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/graph.h"
#include "predict/fusion.h"

namespace ridge::predict {

// One thread. Indices of nodes and tensors stay valid for the rewriter's life; new ones are appended.
class Rewriter {
 public:
  // `graph`: topological order.
  explicit Rewriter(model::Graph graph);

  int node_count() const { return static_cast<int>(graph_.nodes.size()); }
  const model::Node& node(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }
  model::Node& edit(int n) { return graph_.nodes[static_cast<size_t>(n)]; }  // not its inputs and outputs
  const model::TensorInfo& tensor(int t) const { return graph_.tensors[static_cast<size_t>(t)]; }
  bool alive(int n) const { return alive_[static_cast<size_t>(n)]; }
  bool is(int n, std::string_view op, std::string_view domain = "") const;
  bool constant(int t) const { return t >= 0 && constant_[static_cast<size_t>(t)]; }
  // `t` is computed while loading; a view of a weight takes no memory of its own.
  void make_constant(int t, bool view);
  // Its sizes depend on what the file leaves open, though they are known for this run.
  bool open_shape(int t) const { return t >= 0 && open_[static_cast<size_t>(t)]; }
  bool is_output(int t) const;

  int maker(int t) const { return t < 0 ? -1 : maker_[static_cast<size_t>(t)]; }         // node; -1: input or weight
  const std::vector<int>& users(int t) const { return users_[static_cast<size_t>(t)]; }  // nodes; once per use
  // The only node that uses `t`, once, where `t` is no output of the model; else -1.
  int only_user(int t) const;
  // Shape with every dimension known, or null.
  const Shape* shape(int t) const;
  int64_t elements(int t) const;  // 0 if not known

  void remove(int n);                      // its outputs have no maker afterwards
  void replace_uses(int from, int to);     // also as an output of the model
  void set_input(int n, size_t i, int t);  // grows the list with "left out" where needed
  void set_inputs(int n, std::vector<int> inputs);
  void take_output(int n, int t);  // `n` makes `t` now, in place of its first output
  int add_tensor(model::TensorInfo info, bool constant);
  int derive(int from, model::TensorInfo info, DerivedWeight::Form form);
  const std::vector<DerivedWeight>& derived() const { return derived_; }  // in the order in which they were made
  int add_node(model::Node node);

  // Nodes that are left and useful, in the engine's order: depth first from those whose results no node reads, of several always
  // the latest first (core/graph/graph_viewer.cc, Graph::ReverseDFSFrom).
  std::vector<int> order() const;
  // The same as a graph.
  model::Graph finish();

 private:
  void link(int n);
  void unlink(int n);

  model::Graph graph_;
  std::vector<bool> constant_;
  std::vector<bool> open_;
  std::vector<bool> alive_;
  std::vector<bool> output_;
  std::vector<int> maker_;
  std::vector<std::vector<int>> users_;
  std::vector<DerivedWeight> derived_;
};

}  // namespace ridge::predict
