#include "measure/own_nodes.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "cost/count_node.h"
#include "measure/operands.h"

namespace ridge::measure {
namespace {

constexpr size_t kManySteps = 4;  // nodes with arithmetic in a layer that has a name of its own

cost::NodeCost cost_of(const GraphNode& at) {
  return cost::count_node(*at.node, operands(*at.graph, at.node->inputs, {}),
                          operands(*at.graph, at.node->outputs, {}));
}

// The node with the most arithmetic; without any, the last.
const GraphNode& main_of(const std::vector<GraphNode>& nodes) {
  const GraphNode* main = &nodes.back();
  double most = 0;
  for (const GraphNode& each : nodes) {
    const double flops = cost_of(each).flops;
    if (flops > most) main = &each;
    most = std::max(most, flops);
  }
  return *main;
}

std::string tensor_name(const model::Graph& graph, int tensor) {
  return tensor < 0 ? "" : graph.tensors[static_cast<size_t>(tensor)].name;
}

// One thread.
class Assignment {
 public:
  Assignment(std::span<const engine::NodeTime> times, std::span<const GraphNode> executed, const model::Graph& model)
      : times_(times), executed_(executed), moves_only_(times.size()) {
    add(model);
    constant_.resize(nodes_.size());
    for (size_t n = 0; n < nodes_.size(); ++n) constant_[n] = is_constant(n);
    owner_.assign(nodes_.size(), -1);
    for (size_t i = 0; i < executed.size(); ++i) {
      if (executed[i].node == nullptr) continue;
      const cost::NodeCost cost =
          cost::count_node(*executed[i].node, operands(*executed[i].graph, executed[i].node->inputs, times[i].inputs),
                           operands(*executed[i].graph, executed[i].node->outputs, times[i].outputs));
      moves_only_[i] = cost.has_rule && cost.flops <= 0;
      for (int tensor : executed[i].node->inputs) stored_.insert(tensor_name(*executed[i].graph, tensor));
      for (int tensor : executed[i].node->outputs) stored_.insert(tensor_name(*executed[i].graph, tensor));
    }
  }

  std::vector<OwnNodes> make() {
    std::vector<bool> renamed(times_.size());
    for (size_t i = 0; i < times_.size(); ++i)
      if (!claim_results(i)) renamed[i] = claim_sources(i);
    // Takes the next node of the same layer; an addition's operands meet in the later layer's result.
    for (size_t i = times_.size(); i-- > 0;)
      if (renamed[i]) claim_followers(static_cast<int>(i));
    for (size_t i = 0; i < times_.size(); ++i) claim_predecessors(static_cast<int>(i));
    std::vector<OwnNodes> own(times_.size());
    for (size_t n = 0; n < nodes_.size(); ++n)
      if (owner_[n] >= 0) own[static_cast<size_t>(owner_[n])].nodes.push_back(nodes_[n]);
    for (size_t i = 0; i < own.size(); ++i)
      if (own[i].nodes.empty()) own[i].serves = served_by(i, own);
    return own;
  }

 private:
  void add(const model::Graph& graph) {
    for (const model::Node& node : graph.nodes) {
      const size_t n = nodes_.size();
      nodes_.push_back({&graph, &node});
      if (node.named) by_name_.emplace(node.name, n);
      for (int tensor : node.outputs)
        if (tensor >= 0) producers_.emplace(tensor_name(graph, tensor), n);
      for (int tensor : node.inputs)
        if (tensor >= 0) readers_[tensor_name(graph, tensor)].push_back(n);
    }
    for (const model::Node& node : graph.nodes)
      for (const auto& [key, attribute] : node.attributes)
        if (const auto* body = std::get_if<std::shared_ptr<const model::Graph>>(&attribute); body != nullptr && *body)
          add(**body);
  }

  // Computed when the model is loaded: of weights alone.
  bool is_constant(size_t n) const {
    const auto& [graph, node] = nodes_[n];
    return !model::has_body(*node) && std::all_of(node->inputs.begin(), node->inputs.end(), [&](int tensor) {
      if (tensor < 0 || graph->tensors[static_cast<size_t>(tensor)].role == model::TensorRole::kWeight) return true;
      const auto producer = producers_.find(tensor_name(*graph, tensor));
      return producer != producers_.end() && producer->second < n && constant_[producer->second];
    });
  }

  bool claim(size_t n, int layer) {
    // A layer without arithmetic only hands on what one with arithmetic has computed.
    if (owner_[n] >= 0 || (moves_only_[static_cast<size_t>(layer)] && cost_of(nodes_[n]).flops > 0)) return false;
    owner_[n] = layer;
    return true;
  }

  bool claim_results(size_t i) {
    const auto& [graph, node] = executed_[i];
    bool any = false;
    for (int tensor : node == nullptr ? std::vector<int>() : node->outputs)
      if (const auto found = producers_.find(tensor_name(*graph, tensor)); tensor >= 0 && found != producers_.end())
        any = claim(found->second, static_cast<int>(i)) || any;
    return any;
  }

  bool claim_sources(size_t i) {
    std::vector<std::string> sources = times_[i].sources;
    sources.push_back(times_[i].name);
    bool any = false;
    for (const std::string& source : sources)
      for (const std::map<std::string, size_t>* names : {&producers_, &by_name_})
        if (const auto found = names->find(source); !any && found != names->end())
          any = claim(found->second, static_cast<int>(i));
    return any;
  }

  void claim_followers(int layer) {
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (owner_[n] != layer) continue;
      const auto& [graph, node] = nodes_[n];
      for (int tensor : node->outputs) {
        const std::string name = tensor_name(*graph, tensor);
        const auto readers = readers_.find(name);
        if (readers == readers_.end() || readers->second.size() != 1 || stored_.contains(name)) continue;
        const size_t next = readers->second.front();
        if (next > n && fuses(nodes_[next])) claim(next, layer);
      }
    }
  }

  static bool fuses(const GraphNode& at) {
    return cost::operator_of(at.node->domain, at.node->op).is(cost::Trait::kFuses);
  }

  void claim_predecessors(int layer) {
    for (size_t n = nodes_.size(); n-- > 0;) {
      if (owner_[n] != layer) continue;
      const auto& [graph, node] = nodes_[n];
      for (int tensor : node->inputs) {
        const auto producer = producers_.find(tensor_name(*graph, tensor));
        if (tensor >= 0 && producer != producers_.end() && producer->second < n && !constant_[producer->second])
          claim(producer->second, layer);
      }
    }
  }

  // The model's node whose result it hands on, else the layer that reads what it writes, through others like it.
  std::optional<GraphNode> served_by(size_t i, const std::vector<OwnNodes>& own) const {
    const auto& [graph, node] = executed_[i];
    if (node == nullptr) return std::nullopt;
    for (int tensor : node->outputs)
      if (const auto found = producers_.find(tensor_name(*graph, tensor)); found != producers_.end())
        return nodes_[found->second];
    std::set<std::string> written;
    for (int tensor : node->outputs) written.insert(tensor_name(*graph, tensor));
    for (size_t next = i + 1; next < executed_.size(); ++next) {
      if (executed_[next].node == nullptr) continue;
      const std::vector<int>& inputs = executed_[next].node->inputs;
      const bool reads = std::any_of(inputs.begin(), inputs.end(), [&](int tensor) {
        return tensor >= 0 && written.contains(tensor_name(*executed_[next].graph, tensor));
      });
      if (reads && !own[next].nodes.empty()) return main_of(own[next].nodes);
      if (reads)
        for (int tensor : executed_[next].node->outputs) written.insert(tensor_name(*executed_[next].graph, tensor));
    }
    return std::nullopt;
  }

  std::span<const engine::NodeTime> times_;
  std::span<const GraphNode> executed_;
  std::vector<bool> moves_only_;  // of the layers
  std::vector<GraphNode> nodes_;  // of the model, bodies after the graph around them
  std::vector<bool> constant_;
  std::vector<int> owner_;  // layer; -1: none yet
  std::map<std::string, size_t> by_name_, producers_;
  std::map<std::string, std::vector<size_t>> readers_;
  std::set<std::string> stored_;  // tensors by which layers are connected
};

}  // namespace

std::vector<OwnNodes> own_nodes(std::span<const engine::NodeTime> times, std::span<const GraphNode> executed,
                                const model::Graph& model) {
  return Assignment(times, executed, model).make();
}

void name_after(const OwnNodes& own, Layer& layer) {
  layer.engine_name = layer.name;
  if (own.nodes.empty()) {
    if (own.serves) layer.name = own.serves->node->name;
    return;
  }
  size_t steps = 0;
  bool multiplies = false;
  for (const GraphNode& each : own.nodes) {
    const cost::NodeCost cost = cost_of(each);
    multiplies = multiplies || cost.macs > 0;
    steps += cost.flops > 0 ? 1 : 0;
    layer.nodes.push_back(each.node->name);
  }
  const bool many = steps >= kManySteps && !multiplies;
  const model::Node& main = many ? *own.nodes.back().node : *main_of(own.nodes).node;
  layer.name = main.name;
  if (!many) layer.op = main.op;
}

}  // namespace ridge::measure
