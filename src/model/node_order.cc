#include "model/node_order.h"

#include <onnx/onnx_pb.h>

#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ridge::model {
namespace {

using Names = std::unordered_set<std::string>;

// Names defined around a graph, innermost first.
struct Scope {
  const Names* names;
  const Scope* outer;
  bool has(const std::string& name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer)
      if (scope->names->count(name) > 0) return true;
    return false;
  }
};

std::string title(const onnx::NodeProto& node, size_t index) {
  return node.name().empty() ? node.op_type() + " (node " + std::to_string(index) + ")" : "'" + node.name() + "'";
}

void collect_reads(const onnx::NodeProto& node, std::set<std::string>& reads);

// A subgraph's reads from outside.
void collect_reads(const onnx::GraphProto& graph, std::set<std::string>& reads) {
  std::set<std::string> all;
  for (const onnx::NodeProto& node : graph.node()) collect_reads(node, all);
  for (const auto& output : graph.output()) all.insert(output.name());
  for (const onnx::NodeProto& node : graph.node())
    for (const std::string& output : node.output()) all.erase(output);
  for (const auto& input : graph.input()) all.erase(input.name());
  for (const auto& tensor : graph.initializer()) all.erase(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) all.erase(tensor.values().name());
  reads.merge(all);
}

// A node's reads, including its subgraphs.
void collect_reads(const onnx::NodeProto& node, std::set<std::string>& reads) {
  for (const std::string& input : node.input())
    if (!input.empty()) reads.insert(input);
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) collect_reads(attribute.g(), reads);
    for (const onnx::GraphProto& graph : attribute.graphs()) collect_reads(graph, reads);
  }
}

// The producer of each name, and the dependents of each node.
struct Dependencies {
  std::unordered_map<std::string, size_t> producers;
  std::vector<std::vector<size_t>> readers;                        // per node: the nodes that read its outputs
  std::vector<std::vector<std::pair<size_t, std::string>>> needs;  // per node: producer and name
};

Status define(Names& names, const std::string& name, const std::string& what) {
  if (!names.insert(name).second) return invalid(what + " '" + name + "' is defined twice; names must be unique");
  return {};
}

// Inputs and initialisers of the graph; an initialiser may give an input its default.
Status define_sources(const onnx::GraphProto& graph, Names& names) {
  for (const auto& input : graph.input()) RIDGE_TRY(define(names, input.name(), "the input"));
  Names initialisers;
  for (const auto& tensor : graph.initializer()) RIDGE_TRY(define(initialisers, tensor.name(), "the initialiser"));
  for (const auto& tensor : graph.sparse_initializer())
    RIDGE_TRY(define(initialisers, tensor.values().name(), "the initialiser"));
  names.insert(initialisers.begin(), initialisers.end());
  return {};
}

Result<Dependencies> dependencies(const onnx::GraphProto& graph, Names& names, const Scope* outer) {
  Dependencies found;
  const auto count = static_cast<size_t>(graph.node_size());
  found.readers.resize(count);
  found.needs.resize(count);
  for (size_t i = 0; i < count; ++i) {
    for (const std::string& output : graph.node(static_cast<int>(i)).output()) {
      if (output.empty()) continue;
      RIDGE_TRY(define(names, output, "the tensor"));
      found.producers[output] = i;
    }
  }
  const Scope scope{&names, outer};
  for (size_t i = 0; i < count; ++i) {
    const onnx::NodeProto& node = graph.node(static_cast<int>(i));
    for (const std::string& input : node.input())
      if (!input.empty() && !scope.has(input))
        return invalid("node " + title(node, i) + " reads '" + input + "', which nothing in the model defines");
    std::set<std::string> reads;
    collect_reads(node, reads);
    for (const std::string& name : reads) {
      auto producer = found.producers.find(name);
      if (producer == found.producers.end()) continue;
      found.readers[producer->second].push_back(i);
      found.needs[i].emplace_back(producer->second, name);
    }
  }
  return found;
}

// Some cycle among the nodes that could not be ordered: each needs another one of them.
Error cycle_error(const onnx::GraphProto& graph, const Dependencies& found, const std::vector<size_t>& waiting) {
  constexpr size_t kShown = 8;
  size_t at = 0;
  while (waiting[at] == 0) ++at;
  std::unordered_map<size_t, size_t> position;
  std::vector<std::pair<size_t, std::string>> path;  // node, and the name through which it needs the next
  while (position.emplace(at, path.size()).second) {
    const auto& needs = found.needs[at];
    size_t i = 0;
    while (waiting[needs[i].first] == 0) ++i;
    path.emplace_back(at, needs[i].second);
    at = needs[i].first;
  }
  path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(position[at]));
  std::string text;
  for (size_t i = 0; i < path.size() && i < kShown; ++i)
    text += title(graph.node(static_cast<int>(path[i].first)), path[i].first) + " needs '" + path[i].second + "' of ";
  text += path.size() > kShown ? "…" : title(graph.node(static_cast<int>(at)), at);
  return invalid("the graph has a cycle of " + std::to_string(path.size()) + " nodes: " + text);
}

// Kahn's algorithm; of the ready nodes, the earliest in the file comes first.
Result<std::vector<size_t>> order(const onnx::GraphProto& graph, const Dependencies& found) {
  const size_t count = found.needs.size();
  std::vector<size_t> waiting(count);
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i) {
    waiting[i] = found.needs[i].size();
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<size_t> ordered;
  while (!ready.empty()) {
    const size_t node = ready.top();
    ready.pop();
    ordered.push_back(node);
    for (size_t reader : found.readers[node])
      if (--waiting[reader] == 0) ready.push(reader);
  }
  if (ordered.size() < count) return cycle_error(graph, found, waiting);
  return ordered;
}

Status order_graph(onnx::GraphProto& graph, const Scope* outer);

Status order_subgraphs(onnx::NodeProto& node, const Scope* scope) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) RIDGE_TRY(order_graph(*attribute.mutable_g(), scope));
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) RIDGE_TRY(order_graph(graph, scope));
  }
  return {};
}

Status order_graph(onnx::GraphProto& graph, const Scope* outer) {
  Names names;
  RIDGE_TRY(define_sources(graph, names));
  RIDGE_ASSIGN(const Dependencies found, dependencies(graph, names, outer));
  for (const auto& output : graph.output())
    if (names.count(output.name()) == 0)
      return invalid("the output '" + output.name() + "' is not produced by any node");
  RIDGE_ASSIGN(const std::vector<size_t> ordered, order(graph, found));
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (size_t i : ordered) nodes.Add()->Swap(graph.mutable_node(static_cast<int>(i)));
  graph.mutable_node()->Swap(&nodes);
  const Scope scope{&names, outer};
  for (onnx::NodeProto& node : *graph.mutable_node()) RIDGE_TRY(order_subgraphs(node, &scope));
  return {};
}

}  // namespace

Status order_nodes(onnx::ModelProto& model) { return order_graph(*model.mutable_graph(), nullptr); }

}  // namespace ridge::model
