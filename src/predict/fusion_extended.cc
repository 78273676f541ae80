// What ONNX Runtime does at its level "extended" (2): activations move into the kernel before them, and patterns that
// exporters spell out become one kernel.
#include <algorithm>
#include <array>
#include <string_view>

#include "model/domains.h"
#include "predict/fusion_passes.h"

namespace ridge::predict {
namespace {

using model::kMicrosoft;

bool one_of(std::string_view op, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

bool scalar(const Rewriter& graph, int t) { return graph.constant(t) && graph.elements(t) == 1; }

// The input of a node with two that is not `known`; -1 if `known` is none of them.
int other_input(const Rewriter& graph, int n, int known) {
  const std::vector<int>& inputs = graph.node(n).inputs;
  if (inputs.size() != 2) return -1;
  return inputs[0] == known ? inputs[1] : inputs[1] == known ? inputs[0] : -1;
}

// Of a node with two inputs, one a constant scalar: the other one; else -1.
int beside_scalar(const Rewriter& graph, int n) {
  const std::vector<int>& inputs = graph.node(n).inputs;
  if (inputs.size() != 2) return -1;
  return scalar(graph, inputs[1]) ? inputs[0] : scalar(graph, inputs[0]) ? inputs[1] : -1;
}

// Removes `nodes`; one new node makes `output` from `inputs`.
void merge(Rewriter& graph, const std::vector<int>& nodes, std::string op, std::string_view domain,
           std::vector<int> inputs, int output, std::map<std::string, model::Attribute> attributes = {}) {
  const std::string name = graph.node(nodes.back()).name;
  for (int n : nodes) graph.remove(n);
  graph.add_node({name, std::move(op), std::string(domain), std::move(inputs), {output}, std::move(attributes)});
}

// ------------------------------------------------------------------------------------------------- activations

// `n` does the activation after it too.
void take_activation(Rewriter& graph, int n, std::string op, std::initializer_list<std::string_view> known) {
  const int next = graph.only_user(graph.node(n).outputs[0]);
  if (next < 0 || !graph.node(next).domain.empty() || !one_of(graph.node(next).op, known)) return;
  const model::Node activation = graph.node(next);
  if (activation.inputs[0] != graph.node(n).outputs[0]) return;
  if (activation.op == "Clip" && !std::all_of(activation.inputs.begin() + 1, activation.inputs.end(),
                                              [&](int t) { return t < 0 || graph.constant(t); }))
    return;
  graph.remove(next);
  graph.edit(n).op = std::move(op);
  graph.edit(n).domain = kMicrosoft;
  graph.edit(n).attributes["activation"] = activation.op;
  graph.take_output(n, activation.outputs[0]);
}

// -------------------------------------------------------------------------------------------------------- Gelu

// x/√2 → Erf → +1 → times x, times ½, or times ½x; not times ½ first, which the engine leaves as it is (GeluFusion). `erf` is the
// node of Erf.
void match_gelu(Rewriter& graph, int erf) {
  const int scaled = graph.maker(graph.node(erf).inputs[0]);
  if (!graph.is(scaled, "Div") && !graph.is(scaled, "Mul")) return;
  const int x = beside_scalar(graph, scaled);
  const int shifted = graph.only_user(graph.node(erf).outputs[0]);
  if (x < 0 || !graph.is(shifted, "Add") || beside_scalar(graph, shifted) < 0) return;
  std::vector<int> nodes = {scaled, erf, shifted};
  int last = shifted;
  bool times_x = false, times_half = false;
  for (int step = 0; step < 2 && !(times_x && times_half); ++step) {
    const int next = graph.only_user(graph.node(last).outputs[0]);
    if (!graph.is(next, "Mul")) return;
    const int factor = other_input(graph, next, graph.node(last).outputs[0]);
    const int before = factor < 0 ? -1 : graph.maker(factor);
    if (factor == x) {
      times_x = true;
    } else if (times_x && scalar(graph, factor)) {
      times_half = true;
    } else if (graph.is(before, "Mul") && beside_scalar(graph, before) == x && graph.only_user(factor) == next) {
      times_x = times_half = true;
      nodes.push_back(before);
    } else {
      return;
    }
    nodes.push_back(next);
    last = next;
  }
  if (times_x && times_half) merge(graph, nodes, "Gelu", kMicrosoft, {x}, graph.node(last).outputs[0]);
}

// A bias along the last dimension, added only for this Gelu.
void match_bias_gelu(Rewriter& graph, int gelu) {
  const int sum = graph.node(gelu).inputs[0];
  const int addition = graph.maker(sum);
  if (!graph.is(addition, "Add") || graph.only_user(sum) != gelu) return;
  for (size_t i : {size_t{0}, size_t{1}}) {
    const int bias = graph.node(addition).inputs[i], x = graph.node(addition).inputs[1 - i];
    const Shape *offsets = graph.shape(bias), *shape = graph.shape(x);
    if (!graph.constant(bias) || offsets == nullptr || shape == nullptr || offsets->size() != 1 || shape->empty() ||
        offsets->front() != shape->back())
      continue;
    merge(graph, {addition, gelu}, "BiasGelu", kMicrosoft, {x, bias}, graph.node(gelu).outputs[0]);
    return;
  }
}

// x · sigmoid(x) or x · sigmoid(αx).
void match_quick_gelu(Rewriter& graph, int sigmoid) {
  const int share = graph.node(sigmoid).outputs[0];
  const int product = graph.only_user(share);
  if (!graph.is(product, "Mul")) return;
  const int x = other_input(graph, product, share), inside = graph.node(sigmoid).inputs[0];
  std::vector<int> nodes = {sigmoid, product};
  if (inside != x) {
    const int scaled = graph.maker(inside);
    if (!graph.is(scaled, "Mul") || beside_scalar(graph, scaled) != x || graph.only_user(inside) != sigmoid) return;
    nodes.insert(nodes.begin(), scaled);
  }
  if (graph.tensor(x).type != DataType::kFp32) return;
  merge(graph, nodes, "QuickGelu", kMicrosoft, {x}, graph.node(product).outputs[0]);
}

// ½x · (1 + tanh(√(2/π) · (x + 0.0447x³))): all that lies between x and the last product, without what else uses x.
void match_fast_gelu(Rewriter& graph, int tanh) {
  std::vector<int> nodes = {tanh};
  int x = -1;
  std::vector<int> open = {graph.node(tanh).inputs[0]};
  while (!open.empty()) {  // upwards through products, sums and powers with constants
    const int t = open.back();
    open.pop_back();
    const int n = graph.maker(t);
    const bool inside = n >= 0 && nodes.size() < 8 && one_of(graph.node(n).op, {"Mul", "Add", "Pow"}) &&
                        graph.users(t).size() == 1 && graph.node(n).domain.empty();
    if (!inside) {
      if (x >= 0 && x != t) return;
      x = t;
      continue;
    }
    nodes.push_back(n);
    for (int input : graph.node(n).inputs)
      if (!scalar(graph, input)) open.push_back(input);
  }
  if (x < 0 || nodes.size() < 4) return;
  const int shifted = graph.only_user(graph.node(tanh).outputs[0]);
  if (!graph.is(shifted, "Add") || beside_scalar(graph, shifted) < 0) return;
  const int last = graph.only_user(graph.node(shifted).outputs[0]);
  if (!graph.is(last, "Mul")) return;
  const int factor = other_input(graph, last, graph.node(shifted).outputs[0]);
  const int halved = factor < 0 ? -1 : graph.maker(factor);
  if (!graph.is(halved, "Mul") || beside_scalar(graph, halved) != x) return;
  nodes.insert(nodes.end(), {shifted, halved, last});
  merge(graph, nodes, "FastGelu", kMicrosoft, {x}, graph.node(last).outputs[0]);
}

// ----------------------------------------------------------------------------------------------- normalisation

// mean → difference → its square's mean → + ε → √ → quotient → · γ → + β. `mean` is the first node.
void match_layer_normalisation(Rewriter& graph, int mean) {
  const int x = graph.node(mean).inputs[0];
  int difference = -1;
  for (int user : graph.users(graph.node(mean).outputs[0]))
    if (graph.is(user, "Sub") && graph.node(user).inputs[0] == x) difference = user;
  if (difference < 0 || graph.users(graph.node(mean).outputs[0]).size() != 1) return;
  const int centred = graph.node(difference).outputs[0];
  int square = -1, quotient = -1;
  for (int user : graph.users(centred)) {
    if (graph.is(user, "Pow") || graph.is(user, "Mul")) square = user;
    if (graph.is(user, "Div") && graph.node(user).inputs[0] == centred) quotient = user;
  }
  if (square < 0 || quotient < 0) return;
  const int variance = graph.only_user(graph.node(square).outputs[0]);
  if (!graph.is(variance, "ReduceMean")) return;
  const int shifted = graph.only_user(graph.node(variance).outputs[0]);
  const int root = graph.is(shifted, "Add") ? graph.only_user(graph.node(shifted).outputs[0]) : -1;
  if (!graph.is(root, "Sqrt") || graph.node(quotient).inputs[1] != graph.node(root).outputs[0]) return;
  const int scaled = graph.only_user(graph.node(quotient).outputs[0]);
  const int result = graph.is(scaled, "Mul") ? graph.only_user(graph.node(scaled).outputs[0]) : -1;
  if (!graph.is(result, "Add")) return;
  const int gamma = other_input(graph, scaled, graph.node(quotient).outputs[0]);
  const int beta = other_input(graph, result, graph.node(scaled).outputs[0]);
  if (!graph.constant(gamma) || !graph.constant(beta)) return;
  merge(graph, {mean, difference, square, variance, shifted, root, quotient, scaled, result}, "LayerNormalization", "",
        {x, gamma, beta}, graph.node(result).outputs[0], {{"axis", int64_t{-1}}});
}

// x² → its mean → + ε → √ → x over it, or x times 1 over it → · γ; not with Reciprocal, which the engine does not look for
// (SimplifiedLayerNormFusion). `square` is the first node.
void match_root_mean_square(Rewriter& graph, int square) {
  const int x = beside_scalar(graph, square);
  const int mean = graph.only_user(graph.node(square).outputs[0]);
  const int shifted = graph.is(mean, "ReduceMean") ? graph.only_user(graph.node(mean).outputs[0]) : -1;
  const int root = graph.is(shifted, "Add") ? graph.only_user(graph.node(shifted).outputs[0]) : -1;
  if (x < 0 || !graph.is(root, "Sqrt")) return;
  std::vector<int> nodes = {square, mean, shifted, root};
  int last = graph.only_user(graph.node(root).outputs[0]);
  if (graph.is(last, "Div") && beside_scalar(graph, last) >= 0) {
    nodes.push_back(last);
    last = graph.only_user(graph.node(last).outputs[0]);
    if (!graph.is(last, "Mul")) return;
  } else if (!graph.is(last, "Div")) {
    return;
  }
  if (other_input(graph, last, graph.node(nodes.back()).outputs[0]) != x) return;
  nodes.push_back(last);
  const int result = graph.only_user(graph.node(last).outputs[0]);
  if (!graph.is(result, "Mul")) return;
  const int gamma = other_input(graph, result, graph.node(last).outputs[0]);
  if (!graph.constant(gamma)) return;
  nodes.push_back(result);
  merge(graph, nodes, "SimplifiedLayerNormalization", "", {x, gamma}, graph.node(result).outputs[0],
        {{"axis", int64_t{-1}}});
}

// ---------------------------------------------------------------------------------------------------- products

void become_fused(Rewriter& graph, int n) {
  graph.edit(n).op = "FusedMatMul";
  graph.edit(n).domain = kMicrosoft;
}

bool is_matmul(const Rewriter& graph, int n) { return graph.is(n, "MatMul") || graph.is(n, "FusedMatMul", kMicrosoft); }

// A constant factor on the result.
void take_scale(Rewriter& graph, int n) {
  const int result = graph.node(n).outputs[0];
  const int next = graph.only_user(result);
  if (!graph.is(next, "Mul") && !graph.is(next, "Div")) return;
  const model::Node scale = graph.node(next);
  if (beside_scalar(graph, next) != result || (scale.op == "Div" && scale.inputs[0] != result)) return;
  graph.remove(next);
  become_fused(graph, n);
  graph.take_output(n, scale.outputs[0]);
}

// A swap of the last two dimensions of input `i`.
void take_transposition(Rewriter& graph, int n, size_t i) {
  const int input = graph.node(n).inputs[i], before = graph.maker(input);
  if (!graph.is(before, "Transpose") || graph.only_user(input) != n) return;
  const std::vector<int64_t> order = model::attribute_or(graph.node(before), "perm", std::vector<int64_t>());
  const size_t rank = order.size();
  if (rank < 2) return;
  for (size_t axis = 0; axis + 2 < rank; ++axis)
    if (order[axis] != static_cast<int64_t>(axis)) return;
  if (order[rank - 2] != static_cast<int64_t>(rank) - 1) return;
  const int source = graph.node(before).inputs[0];
  graph.remove(before);
  become_fused(graph, n);
  graph.edit(n).attributes[i == 0 ? "transA" : "transB"] = int64_t{1};
  graph.set_input(n, i, source);
}

}  // namespace

void fuse_activations(Rewriter& graph) {
  for (int n = 0; n < graph.node_count(); ++n) {
    if (graph.is(n, "Conv"))
      take_activation(graph, n, "FusedConv", {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid"});
    if (graph.is(n, "Gemm")) take_activation(graph, n, "FusedGemm", {"Relu", "Sigmoid", "Tanh", "LeakyRelu"});
  }
}

void fuse_gelu(Rewriter& graph) {
  for (int n = 0; n < graph.node_count(); ++n) {
    if (graph.is(n, "Erf")) match_gelu(graph, n);
    if (graph.is(n, "Tanh")) match_fast_gelu(graph, n);
  }
  for (int n = 0; n < graph.node_count(); ++n) {
    if (graph.is(n, "Gelu") || graph.is(n, "Gelu", kMicrosoft)) match_bias_gelu(graph, n);
    if (graph.is(n, "Sigmoid")) match_quick_gelu(graph, n);
  }
}

void fuse_layer_normalisation(Rewriter& graph) {
  for (int n = 0; n < graph.node_count(); ++n)
    if (graph.is(n, "ReduceMean")) match_layer_normalisation(graph, n);
  for (int n = 0; n < graph.node_count(); ++n)
    if (graph.is(n, "Pow")) match_root_mean_square(graph, n);
}

void fuse_attention(Rewriter& graph) {
  for (int n = 0; n < graph.node_count(); ++n) {
    if (!is_matmul(graph, n)) continue;
    take_transposition(graph, n, 0);
    take_transposition(graph, n, 1);
    take_scale(graph, n);
  }
}

// The sum of two equal shapes of three dimensions before a normalisation. Only where the file fixes the shapes.
void fuse_skip_layer_normalisation(Rewriter& graph) {
  for (int n = 0, count = graph.node_count(); n < count; ++n) {
    if (!graph.is(n, "LayerNormalization")) continue;
    const model::Node node = graph.node(n);
    const int sum = node.inputs[0], addition = graph.maker(sum);
    if (!graph.is(addition, "Add") || graph.only_user(sum) != n || graph.open_shape(sum)) continue;
    const std::vector<int> parts = graph.node(addition).inputs;
    const Shape *a = graph.shape(parts[0]), *b = graph.shape(parts[1]);
    if (a == nullptr || b == nullptr || a->size() != 3 || *a != *b) continue;
    std::vector<int> inputs = {parts[0], parts[1]};
    inputs.insert(inputs.end(), node.inputs.begin() + 1, node.inputs.end());
    merge(graph, {addition, n}, "SkipLayerNormalization", kMicrosoft, std::move(inputs), node.outputs[0]);
  }
}

// A sum with another tensor of the same shape after a convolution in plain channels, and the activation after that.
void fuse_additions(Rewriter& graph) {
  for (int n = 0; n < graph.node_count(); ++n) {
    if (!graph.is(n, "Conv")) continue;
    const model::Node& node = graph.node(n);
    const int next = graph.only_user(node.outputs[0]);
    if (!graph.is(next, "Add") || node.inputs.size() > 3) continue;
    const int other = other_input(graph, next, node.outputs[0]);
    const Shape *a = graph.shape(node.outputs[0]), *b = graph.shape(other);
    if (a == nullptr || b == nullptr || *a != *b || graph.constant(other)) continue;
    const int result = graph.node(next).outputs[0];
    graph.remove(next);
    graph.set_input(n, 3, other);
    graph.edit(n).op = "FusedConv";
    graph.edit(n).domain = kMicrosoft;
    graph.take_output(n, result);
    take_activation(graph, n, "FusedConv", {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid"});
  }
}

}  // namespace ridge::predict
