// Blocked layouts: which nodes run on NCHWc, and the copies where layouts meet. After nchwc_transformer.cc.
#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>

#include "plan/engine_layout.h"

namespace ridge::plan {
namespace {

int64_t whole_blocks(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Walks the nodes in order; per tensor it knows a plain and a blocked form, where there are any.
class Layout {
 public:
  Layout(Draft& draft, int64_t block, EngineWeights& weights) : draft_(draft), block_(block), weights_(weights) {}

  std::vector<DraftNode> run() {
    for (DraftNode& node : draft_.nodes) {
      if (!node.alive) continue;
      if (node.op == "Conv" && convolution(node)) continue;
      if (pool(node) || elementwise(node) || concat(node)) continue;
      plain(node);
    }
    for (size_t t = 0; t < draft_.graph.tensors.size(); ++t)
      if (draft_.output[t]) plain_form(static_cast<int>(t));
    return std::move(steps_);
  }

 private:
  int64_t channels(int tensor) const {
    const Shape* shape = draft_.shape(tensor);
    return shape && shape->size() == 4 ? (*shape)[1] : 0;
  }
  int64_t blocked_bytes(int tensor) const {
    int64_t count = channels(tensor);
    int64_t bytes = draft_.bytes[static_cast<size_t>(tensor)];
    return count > 0 ? bytes / count * whole_blocks(count, block_) : bytes;
  }
  bool is_blocked(int tensor) const { return blocked_.contains(tensor); }

  int blocked_form(int tensor) {
    if (auto found = blocked_.find(tensor); found != blocked_.end()) return found->second;
    int copy = draft_.add_tensor(blocked_bytes(tensor), tensor);
    steps_.push_back({"ReorderInput", {tensor}, {copy}});
    return blocked_[tensor] = copy;
  }
  // The tensor itself; made from its blocked form if that is all there is.
  int plain_form(int tensor) {
    if (is_blocked(tensor) && made_blocked_.contains(tensor) && !plain_made_.contains(tensor)) {
      steps_.push_back({"ReorderOutput", {blocked_[tensor]}, {tensor}});
      plain_made_.insert(tensor);
    }
    return tensor;
  }
  // Registers `node`'s output as blocked.
  int write_blocked(int tensor) {
    int copy = draft_.add_tensor(blocked_bytes(tensor), tensor);
    blocked_[tensor] = copy;
    made_blocked_.insert(tensor);
    return copy;
  }

  bool suits(const DraftNode& node, int64_t inputs_per_group, int64_t outputs, int64_t group) const {
    if (group == 1) return true;
    if (outputs % block_ != 0) return false;
    if (inputs_per_group == 1 && outputs == group) return true;  // depthwise
    return inputs_per_group % block_ == 0 && (outputs / group) % block_ == 0 && node.op == "Conv";
  }

  bool convolution(DraftNode& node) {
    if (block_ == 0 || node.inputs.size() < 2 || !draft_.constant(node.inputs[1])) return false;
    const Shape* w = draft_.shape(node.inputs[1]);
    if (!w || w->size() != 4 || draft_.graph.tensors[static_cast<size_t>(node.inputs[0])].type != DataType::kFp32)
      return false;
    int64_t group = model::attribute_or<int64_t>(*node.source, "group", 1);
    if (!suits(node, (*w)[1], (*w)[0], group)) return false;
    bool from_plain = group == 1 && (*w)[1] < block_;
    int x = from_plain ? plain_form(node.inputs[0]) : blocked_form(node.inputs[0]);
    note_weight(node, *w, from_plain || group > 1);
    DraftNode step{"Conv", {x}, {}, node.source};
    step.activated = node.activated;
    step.blocked = true;
    step.outputs = {write_blocked(node.outputs[0])};
    convolution_of_[node.outputs[0]] = steps_.size();
    steps_.push_back(std::move(step));
    return true;
  }

  void note_weight(const DraftNode& node, const Shape& w, bool inputs_as_they_are) {
    if (!reordered_.insert(node.inputs[1]).second) return;  // another convolution has the same weights
    int64_t rest = w[2] * w[3] * 4;
    int64_t before = w[0] * w[1] * rest;
    int64_t inputs = inputs_as_they_are ? w[1] : whole_blocks(w[1], block_);
    weights_.blocked.push_back({node.inputs[1], before, whole_blocks(w[0], block_) * inputs * rest});
  }

  bool pool(DraftNode& node) {
    static const std::unordered_set<std::string_view> kPools = {"MaxPool", "AveragePool", "GlobalMaxPool",
                                                                "GlobalAveragePool"};
    if (block_ == 0 || !kPools.contains(node.op) || node.outputs.size() != 1) return false;
    int64_t count = channels(node.inputs[0]);
    if (count == 0 || count % block_ != 0) return false;
    int x = blocked_form(node.inputs[0]);
    steps_.push_back({node.op, {x}, {write_blocked(node.outputs[0])}, node.source});
    return true;
  }

  // Runs on blocked operands if all of them are.
  bool elementwise(DraftNode& node) {
    static const std::unordered_set<std::string_view> kOps = {
        "Relu", "Sigmoid",     "Tanh",     "LeakyRelu", "QuickGelu",         "Add", "Sum", "Mul",
        "Clip", "HardSigmoid", "Upsample", "Resize",    "BatchNormalization"};
    if (!kOps.contains(node.op)) return false;
    std::vector<int> reads;
    for (int t : node.inputs) {
      if (t < 0 || (draft_.constant(t) && node.op != "Add" && node.op != "Sum" && node.op != "Mul")) continue;
      if (!is_blocked(t) || channels(t) != channels(node.inputs[0])) return false;
      reads.push_back(t);
    }
    if (reads.empty()) return false;
    if ((node.op == "Add" || node.op == "Sum") && reads.size() == 2 && add_inside(node, reads)) return true;
    if (node.op == "Relu" && melt_activation(node, reads[0])) return true;
    std::vector<int> forms;
    for (int t : reads) forms.push_back(blocked_[t]);
    steps_.push_back({node.op, forms, {write_blocked(node.outputs[0])}, node.source});
    return true;
  }

  // The last convolution of the two adds the other operand, in its memory.
  bool add_inside(const DraftNode& node, const std::vector<int>& reads) {
    for (size_t i : {size_t{1}, size_t{0}}) {
      auto found = convolution_of_.find(reads[i]);
      if (found == convolution_of_.end() || draft_.only_reader(reads[i]) < 0) continue;
      DraftNode& conv = steps_[found->second];
      int other = blocked_[reads[1 - i]];
      if (conv.activated || conv.sum >= 0 || made_after(other, found->second)) continue;
      conv.sum = other;
      conv.inputs.push_back(other);
      take_over(reads[i], node.outputs[0], found->second);
      return true;
    }
    return false;
  }
  bool made_after(int tensor, size_t step) const {
    for (size_t s = step + 1; s < steps_.size(); ++s)
      if (std::find(steps_[s].outputs.begin(), steps_[s].outputs.end(), tensor) != steps_[s].outputs.end()) return true;
    return false;
  }
  bool melt_activation(const DraftNode& node, int read) {
    auto found = convolution_of_.find(read);
    if (found == convolution_of_.end() || draft_.only_reader(read) < 0 || steps_[found->second].activated) return false;
    steps_[found->second].activated = true;
    take_over(read, node.outputs[0], found->second);
    return true;
  }
  // The convolution at `step` now makes `to` instead of `from`.
  void take_over(int from, int to, size_t step) {
    blocked_[to] = blocked_[from];
    made_blocked_.insert(to);
    convolution_of_[to] = step;
  }

  bool concat(DraftNode& node) {
    if (block_ == 0 || node.op != "Concat" || model::attribute_or<int64_t>(*node.source, "axis", 0) != 1) return false;
    std::vector<int> forms;
    for (int t : node.inputs) {
      if (t < 0 || !is_blocked(t) || channels(t) % block_ != 0) return false;
      forms.push_back(blocked_[t]);
    }
    steps_.push_back({node.op, forms, {write_blocked(node.outputs[0])}, node.source});
    return true;
  }

  void plain(DraftNode& node) {
    DraftNode step = node;
    for (int t : node.inputs)
      if (t >= 0 && !draft_.constant(t)) plain_form(t);
    steps_.push_back(std::move(step));
  }

  Draft& draft_;
  int64_t block_;
  EngineWeights& weights_;
  std::vector<DraftNode> steps_;
  std::map<int, int> blocked_;            // tensor → its blocked form
  std::unordered_set<int> made_blocked_;  // tensors whose blocked form comes first
  std::unordered_set<int> plain_made_;
  std::unordered_set<int> reordered_;     // weights
  std::map<int, size_t> convolution_of_;  // tensor → step
};

}  // namespace

std::vector<DraftNode> block_layouts(Draft& draft, int64_t block, EngineWeights& weights) {
  return Layout(draft, block, weights).run();
}

}  // namespace ridge::plan
