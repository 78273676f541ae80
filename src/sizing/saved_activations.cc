#include "sizing/saved_activations.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>

#include "cost/count_node.h"
#include "cost/operators.h"
#include "cost/residency.h"
#include "sizing/backward.h"

namespace ridge::sizing {
namespace {

bool is_float(DataType type) {
  return type == DataType::kFp32 || type == DataType::kFp64 || type == DataType::kFp16 || type == DataType::kBf16;
}

// The graph for backward. Indices are of Graph::tensors and Graph::nodes.
class Walk {
 public:
  Walk(const model::Graph& graph, const SavedOptions& options)
      : graph_(graph), options_(options), residency_(cost::residency_of(graph)) {
    size_t tensors = graph.tensors.size();
    root_.resize(tensors);
    for (size_t t = 0; t < tensors; ++t) root_[t] = t;
    wants_.resize(tensors);
    made_.assign(tensors, 0);
    last_use_.assign(tensors, 0);
    keeper_.assign(tensors, kNone);
    kept_by_node_.assign(graph.nodes.size(), 0);
    forward();
  }

  SavedActivations result() const {
    SavedActivations saved;
    for (double bytes : kept_by_node_) saved.kept_bytes += bytes;
    saved.peak_bytes = backward_peak();
    checkpoint(saved);
    saved.by_operator.assign(by_operator_.begin(), by_operator_.end());
    std::stable_sort(saved.by_operator.begin(), saved.by_operator.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    saved.without_rule.assign(without_rule_.begin(), without_rule_.end());
    return saved;
  }

 private:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  double bytes_of(size_t tensor) const {
    const model::TensorInfo& info = graph_.tensors[tensor];
    if (!info.shape) return 0;
    double size = is_float(info.type) ? options_.float_bytes : static_cast<double>(data_type_size(info.type));
    for (int64_t dimension : *info.shape) size *= static_cast<double>(std::max<int64_t>(dimension, 0));
    return size;
  }

  // Trained: counts as a parameter; with adapters, the weights of linear layers stand for their adapters.
  bool trained(const model::Node& node, size_t i, size_t tensor) const {
    const model::TensorInfo& info = graph_.tensors[tensor];
    if (!is_float(info.type)) return false;
    if (options_.adapters_only)
      return cost::operator_of(node.domain, node.op).kernel == cost::KernelFamily::kMatMul && i == 1 && info.shape &&
             info.shape->size() == 2;
    return cost::parameters_of(node, i, info.type, info.shape) > 0;
  }

  std::vector<BackwardOperand> inputs_of(const model::Node& node) const {
    std::vector<BackwardOperand> operands(node.inputs.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] < 0) continue;
      size_t t = static_cast<size_t>(node.inputs[i]);
      operands[i].shape = graph_.tensors[t].shape;
      operands[i].wants_gradient = residency_.constant[t] ? trained(node, i, t) : wants_[t];
    }
    return operands;
  }

  std::vector<BackwardOperand> outputs_of(const model::Node& node) const {
    std::vector<BackwardOperand> operands(node.outputs.size());
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] >= 0) operands[i].shape = graph_.tensors[static_cast<size_t>(node.outputs[i])].shape;
    return operands;
  }

  void keep(int index, size_t n) {
    if (index < 0 || residency_.constant[static_cast<size_t>(index)]) return;
    size_t t = root_[static_cast<size_t>(index)];
    if (keeper_[t] != kNone) return;
    keeper_[t] = n;
    add(n, bytes_of(t));
  }

  void add(size_t n, double bytes) {
    kept_by_node_[n] += bytes;
    if (bytes > 0) by_operator_[graph_.nodes[n].op] += bytes;
  }

  void pass_gradients(const model::Node& node, const std::vector<BackwardOperand>& inputs) {
    bool any = std::any_of(inputs.begin(), inputs.end(), [](const auto& operand) { return operand.wants_gradient; });
    for (int index : node.outputs)
      if (index >= 0)
        wants_[static_cast<size_t>(index)] =
            any && is_differentiable(node) && is_float(graph_.tensors[static_cast<size_t>(index)].type);
  }

  void forward() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const model::Node& node = graph_.nodes[n];
      if (!residency_.runs[n]) continue;
      std::vector<BackwardOperand> inputs = inputs_of(node);
      pass_gradients(node, inputs);
      note_uses(node, n);
      SavedTensors kept = kept_for_backward(node, inputs, outputs_of(node));
      for (size_t i : kept.inputs)
        if (i < node.inputs.size()) keep(node.inputs[i], n);
      for (size_t i : kept.outputs)
        if (i < node.outputs.size()) keep(node.outputs[i], n);
      add(n, kept.mask_bytes + kept.extra_elements * options_.float_bytes);
      if (!kept.has_rule) without_rule_.insert((node.domain.empty() ? "" : node.domain + ".") + node.op);
    }
  }

  void note_uses(const model::Node& node, size_t n) {
    for (int index : node.inputs)
      if (index >= 0) last_use_[root_[static_cast<size_t>(index)]] = n;
    bool view = is_view_in_training(node) && !node.inputs.empty() && node.inputs[0] >= 0 &&
                !residency_.constant[static_cast<size_t>(node.inputs[0])];
    for (int index : node.outputs) {
      if (index < 0) continue;
      size_t t = static_cast<size_t>(index);
      if (view)
        root_[t] = root_[static_cast<size_t>(node.inputs[0])];
      else
        made_[t] = last_use_[t] = n;
    }
  }

  // While backward passes node n: the tensors needed by nodes up to n are kept; the gradients of tensors made at or
  // before n and used at or after it are alive.
  double backward_peak() const {
    std::vector<double> change(graph_.nodes.size() + 1, 0.0);
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (!wants_[t] || root_[t] != t || residency_.constant[t]) continue;
      change[made_[t]] += bytes_of(t);
      change[last_use_[t] + 1] -= bytes_of(t);
    }
    double kept = 0, gradients = 0, peak = 0;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      kept += kept_by_node_[n];
      gradients += change[n];
      peak = std::max(peak, kept + gradients);
    }
    return peak;
  }

  // Per cut before node n: bytes of the tensors that live across it, which a checkpoint keeps.
  std::vector<double> cut_costs() const {
    std::vector<double> change(graph_.nodes.size() + 2, 0.0);
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (!wants_[t] || root_[t] != t || residency_.constant[t] || last_use_[t] <= made_[t]) continue;
      change[made_[t] + 1] += bytes_of(t);
      change[last_use_[t] + 1] -= bytes_of(t);
    }
    std::vector<double> costs(graph_.nodes.size() + 1, 0.0);
    double live = 0;
    for (size_t n = 0; n < costs.size(); ++n) costs[n] = live += change[n];
    costs.front() = costs.back() = 0;
    return costs;
  }

  struct Split {
    double kept_bytes = std::numeric_limits<double>::infinity();
    int64_t segments = 0;
  };

  // Least sum of cuts such that no segment keeps more than `budget`: shortest path over the cuts, with a sliding window
  // (a segment's bytes grow with its length).
  Split best_cuts(const std::vector<double>& cut, const std::vector<double>& sum, double budget) const {
    std::vector<Split> best(cut.size());
    best[0] = {0, 0};
    std::deque<size_t> window = {0};
    for (size_t n = 1; n < cut.size(); ++n) {
      while (!window.empty() && sum[n] - sum[window.front()] > budget) window.pop_front();
      if (window.empty()) return {};
      best[n] = {best[window.front()].kept_bytes + cut[n], best[window.front()].segments + 1};
      while (!window.empty() && best[window.back()].kept_bytes >= best[n].kept_bytes) window.pop_back();
      window.push_back(n);
    }
    return best.back();
  }

  void checkpoint(SavedActivations& saved) const {
    std::vector<double> cut = cut_costs();
    std::vector<double> sum(graph_.nodes.size() + 1, 0.0);
    for (size_t n = 0; n < kept_by_node_.size(); ++n) sum[n + 1] = sum[n] + kept_by_node_[n];
    double working = saved.peak_bytes - saved.kept_bytes;  // gradients of activations are added to a segment
    saved.checkpointed_bytes = saved.peak_bytes;
    constexpr double kStep = 0.9;  // budgets from the whole downwards, 10 % less each time
    for (double budget = saved.kept_bytes; budget > saved.kept_bytes * 1e-3; budget *= kStep) {
      Split split = best_cuts(cut, sum, budget);
      if (split.segments == 0) break;
      double bytes = split.kept_bytes + budget + std::max(working, 0.0);
      if (bytes >= saved.checkpointed_bytes) continue;
      saved.checkpointed_bytes = bytes;
      saved.segments = split.segments;
    }
  }

  const model::Graph& graph_;
  SavedOptions options_;
  cost::Residency residency_;
  std::vector<size_t> root_;  // per tensor: the root of its memory
  std::vector<bool> wants_;   // per tensor: its gradient is computed
  std::vector<size_t> made_, last_use_;
  std::vector<size_t> keeper_;        // per root: the first node that keeps it
  std::vector<double> kept_by_node_;  // [bytes] that the node is the first to keep
  std::map<std::string, double> by_operator_;
  std::set<std::string> without_rule_;
};

}  // namespace

SavedActivations saved_activations(const model::Graph& graph, const SavedOptions& options) {
  return Walk(graph, options).result();
}

}  // namespace ridge::sizing
