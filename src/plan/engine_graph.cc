#include "plan/engine_graph.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_set>

#include "cost/costs.h"
#include "cost/residency.h"
#include "plan/engine_draft.h"
#include "plan/engine_layout.h"

namespace ridge::plan {
namespace {

using Ops = std::unordered_set<std::string_view>;

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

int64_t bytes_of(const model::TensorInfo& info) {
  return info.shape ? static_cast<int64_t>(byte_size(info.type, *info.shape).value_or(0)) : 0;
}

// Kernels that declare an alias of output and input: Reshape and its kind.
bool is_view(const std::string& op) {
  static const Ops kOps = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"};
  return kOps.contains(op);
}

// Kernels that may write over their first input, or over either of two: element-wise ones (MayInplace).
size_t overwritable(const std::string& op) {
  static const Ops kOne = {"Relu", "Sigmoid",  "Tanh",     "LeakyRelu", "Clip",  "HardSigmoid", "QuickGelu",  "Abs",
                           "Neg",  "Sqrt",     "Exp",      "Log",       "Floor", "Ceil",        "Reciprocal", "Elu",
                           "Selu", "Softplus", "Softsign", "Not",       "Erf",   "HardSwish",   "Softmax",    "Cast"};
  static const Ops kTwo = {"Add", "Sub", "Mul", "Div", "Sum", "Pow"};
  if (kOne.contains(op)) return op == "Cast" ? 0 : 1;
  return kTwo.contains(op) ? 2 : 0;
}

void list_weights(const model::Graph& graph, const cost::Residency& residency, const std::vector<int>& same,
                  EngineWeights& weights) {
  std::vector<bool> made(graph.tensors.size());
  for (const model::Node& node : graph.nodes)
    for (int t : node.outputs)
      if (t >= 0) made[static_cast<size_t>(t)] = true;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const model::TensorInfo& info = graph.tensors[t];
    int64_t bytes = bytes_of(info);
    if (info.role == model::TensorRole::kWeight && !made[t] && bytes > 0)
      weights.stored.push_back({static_cast<int>(t), bytes, bytes});
  }
  for (const model::Node& node : graph.nodes)
    for (int t : node.outputs) {
      if (t < 0 || !residency.constant[static_cast<size_t>(t)] || is_view(node.op)) continue;
      if (same[static_cast<size_t>(t)] != t) continue;
      int64_t bytes = bytes_of(graph.tensors[static_cast<size_t>(t)]);
      if (bytes > 0) weights.computed.push_back({t, bytes, bytes});
    }
}

// Nodes that compute the same constant are made one: same operator, attributes and values of inputs. Files that fill their
// weights by ConstantOfShape have few distinct ones. Returns, per tensor, the one that stands for it.
std::vector<int> shared_constants(const model::Graph& graph, const cost::Residency& residency) {
  std::vector<int> same(graph.tensors.size());
  for (size_t t = 0; t < same.size(); ++t) same[t] = static_cast<int>(t);
  std::map<std::pair<std::string, std::vector<int64_t>>, std::vector<const model::Node*>> seen;
  for (const model::Node& node : graph.nodes) {
    if (node.outputs.size() != 1 || node.inputs.size() != 1 || node.inputs[0] < 0 || node.outputs[0] < 0) continue;
    const auto& values = graph.tensors[static_cast<size_t>(node.inputs[0])].constant;
    if (!values || !residency.constant[static_cast<size_t>(node.outputs[0])]) continue;
    auto& candidates = seen[{node.op, *values}];
    auto equal = std::find_if(candidates.begin(), candidates.end(),
                              [&](const model::Node* other) { return other->attributes == node.attributes; });
    if (equal == candidates.end())
      candidates.push_back(&node);
    else
      same[static_cast<size_t>(node.outputs[0])] = (*equal)->outputs[0];
  }
  return same;
}

using Body = std::shared_ptr<const model::Graph>;

// The graphs inside a node.
std::vector<Body> bodies_of(const model::Node& node) {
  std::vector<Body> bodies;
  for (const auto& [name, attribute] : node.attributes)
    if (const Body* body = std::get_if<Body>(&attribute); body != nullptr && *body) bodies.push_back(*body);
  return bodies;
}

// Weights of loops and branches lie beside the others; what a body only uses of the graph around it is listed there.
void list_body_weights(const model::Graph& graph, std::unordered_set<std::string_view> around, Draft& draft,
                       EngineWeights& weights) {
  for (const model::TensorInfo& tensor : graph.tensors) around.insert(tensor.name);
  for (const model::Node& node : graph.nodes)
    for (const Body& body : bodies_of(node)) {
      for (const model::TensorInfo& tensor : body->tensors) {
        const int64_t bytes = bytes_of(tensor);
        if (tensor.role != model::TensorRole::kWeight || bytes == 0 || around.contains(tensor.name)) continue;
        weights.stored.push_back({draft.add_tensor(0, -1), bytes, bytes});
      }
      list_body_weights(*body, around, draft, weights);
    }
}

// What is alive while a body runs: the largest of several, of which one runs at a time.
int64_t bodies_bytes(const model::Node& node) {
  double most = 0;
  for (const Body& body : bodies_of(node)) most = std::max(most, cost::count(*body).peak_activation_bytes);
  return static_cast<int64_t>(most);
}

// Each convolution gets weights of its own, even if it shared them before.
void list_folded(Draft& draft, EngineWeights& weights) {
  for (DraftNode& node : draft.nodes) {
    if (!node.alive || !node.folded) continue;
    int from = node.inputs[1];
    int64_t bytes = draft.bytes[static_cast<size_t>(from)];
    node.inputs[1] = draft.add_tensor(bytes, draft.like[static_cast<size_t>(from)]);
    draft.weight.back() = true;
    weights.folded.push_back({node.inputs[1], bytes, bytes, from});
  }
}

// The kernel's own form: whole columns of 16 (MlasGemmPackBSize).
void list_packed(const Draft& draft, const std::vector<DraftNode>& steps, EngineWeights& weights) {
  for (const DraftNode& step : steps) {
    if ((step.op != "MatMul" && step.op != "Gemm") || step.inputs.size() < 2 || !draft.constant(step.inputs[1]))
      continue;
    const Shape* shape = draft.shape(step.inputs[1]);
    const model::TensorInfo& info =
        draft.graph.tensors[static_cast<size_t>(draft.like[static_cast<size_t>(step.inputs[1])])];
    if (!shape || shape->size() != 2 || info.type != DataType::kFp32) continue;
    bool transposed = step.op == "Gemm" && model::attribute_or<int64_t>(*step.source, "transB", 0) != 0;
    int64_t rows = (*shape)[transposed ? 1 : 0], columns = (*shape)[transposed ? 0 : 1];
    weights.packed.push_back({step.inputs[1], bytes_of(info), rows * round_up(columns, 16) * 4});
  }
}

// The activations of a body. im2col: the windows of one image and group, for a convolution in plain layout; none for a kernel of one.
int64_t workspace_of(const Draft& draft, const DraftNode& step) {
  if (step.source != nullptr && cost::has_body(*step.source)) return bodies_bytes(*step.source);
  if (step.blocked || (step.op != "Conv" && step.op != "ConvTranspose") || step.source == nullptr ||
      step.inputs.size() < 2)
    return 0;
  const Shape* w = draft.shape(step.inputs[1]);
  const Shape* x = draft.shape(step.inputs[0]);
  const Shape* y = draft.shape(step.outputs[0]);
  if (!w || !x || !y || w->size() != 4 || x->size() != 4 || y->size() != 4) return 0;
  int64_t window = (*w)[2] * (*w)[3] * 4;
  if (step.op == "ConvTranspose") return window * (*w)[1] * (*x)[2] * (*x)[3];
  return window == 4 ? 0 : window * (*w)[1] * (*y)[2] * (*y)[3];
}

EngineStep step_of(const Draft& draft, const DraftNode& node) {
  EngineStep step;
  step.op = node.op;
  for (int t : node.inputs)
    if (t >= 0 && !draft.constant(t)) step.reads.push_back(t);
  for (int t : node.outputs)
    if (t >= 0) step.writes.push_back(t);
  step.view = is_view(node.op) && !node.inputs.empty() && !step.reads.empty() && step.reads[0] == node.inputs[0];
  for (size_t i = 0; i < std::min(overwritable(node.op), step.reads.size()); ++i)
    step.may_overwrite.push_back(step.reads[i]);
  if (node.sum >= 0) step.may_overwrite = {node.sum};
  step.workspace_bytes = workspace_of(draft, node);
  return step;
}

void number_shapes(const Draft& draft, EngineGraph& result) {
  std::map<Shape, int> numbers;
  for (size_t t = 0; t < draft.bytes.size(); ++t) {
    EngineTensor tensor{draft.bytes[t], -1, false, draft.output[t]};
    if (const Shape* shape = draft.shape(draft.like[t]))
      tensor.shape = numbers.emplace(*shape, static_cast<int>(numbers.size())).first->second;
    result.tensors.push_back(tensor);
  }
}

}  // namespace

EngineGraph engine_graph(const model::Graph& graph, const LayoutTraits& traits) {
  cost::Residency residency = cost::residency_of(graph);
  Draft draft(graph, residency);
  EngineGraph result;
  result.nodes = static_cast<int64_t>(graph.nodes.size());
  std::vector<int> same = shared_constants(graph, residency);
  list_weights(graph, residency, same, result.weights);
  for (DraftNode& node : draft.nodes)
    for (int& t : node.inputs)
      if (t >= 0) t = same[static_cast<size_t>(t)];
  list_body_weights(graph, {}, draft, result.weights);
  fuse(draft);
  list_folded(draft, result.weights);
  std::vector<DraftNode> steps = block_layouts(draft, traits.block, result.weights);
  list_packed(draft, steps, result.weights);
  number_shapes(draft, result);
  for (int t : graph.inputs) result.tensors[static_cast<size_t>(t)].input = true;
  for (const model::TensorInfo& info : graph.tensors)
    if (info.role == model::TensorRole::kActivation && !info.shape) result.known = false;
  for (const DraftNode& node : steps) result.steps.push_back(step_of(draft, node));
  return result;
}

}  // namespace ridge::plan
