#include "plan/engine_draft.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace ridge::plan {
namespace {

using Ops = std::unordered_set<std::string_view>;

int64_t tensor_bytes(const model::TensorInfo& info) {
  if (!info.shape) return 0;
  return static_cast<int64_t>(byte_size(info.type, *info.shape).value_or(0));
}

bool is(const Draft& draft, int node, std::string_view op) {
  return node >= 0 && draft.nodes[static_cast<size_t>(node)].op == op;
}

int first_output(const Draft& draft, int node) {
  const auto& outputs = draft.nodes[static_cast<size_t>(node)].outputs;
  return outputs.empty() ? -1 : outputs[0];
}

// The only reader of a node's first output.
int next(const Draft& draft, int node) { return node < 0 ? -1 : draft.only_reader(first_output(draft, node)); }

bool reads_constant(const Draft& draft, const DraftNode& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](int t) { return draft.constant(t); });
}

// Copies that compute nothing.
void drop_copies(Draft& draft) {
  for (DraftNode& node : draft.nodes) {
    if (!node.alive || (node.op != "Identity" && node.op != "Dropout")) continue;
    if (node.inputs.empty() || node.inputs[0] < 0 || draft.output[static_cast<size_t>(node.outputs[0])]) continue;
    draft.redirect(node.outputs[0], node.inputs[0]);
    node.alive = false;
  }
}

// Normalisation, factor or shift behind a convolution, all constant: into its weights.
void fold_into_convolutions(Draft& draft) {
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    int conv = static_cast<int>(n);
    if (!draft.nodes[n].alive || draft.nodes[n].op != "Conv") continue;
    if (draft.nodes[n].inputs.size() < 2 || !draft.constant(draft.nodes[n].inputs[1])) continue;
    for (int after = next(draft, conv); after >= 0; after = next(draft, conv)) {
      const DraftNode& follower = draft.nodes[static_cast<size_t>(after)];
      bool scales = follower.op == "BatchNormalization" || (follower.op == "Mul" && reads_constant(draft, follower));
      if (!scales && !(follower.op == "Add" && reads_constant(draft, follower))) break;
      if (scales) draft.nodes[n].folded = true;
      draft.melt(conv, after);
    }
  }
}

void fuse_activations(Draft& draft) {
  static const Ops kOfConv = {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid"};
  static const Ops kOfGemm = {"Relu", "Sigmoid", "Tanh", "LeakyRelu"};
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    DraftNode& node = draft.nodes[n];
    if (!node.alive || node.activated || (node.op != "Conv" && node.op != "Gemm")) continue;
    int after = next(draft, static_cast<int>(n));
    if (after < 0) continue;
    const Ops& ops = node.op == "Conv" ? kOfConv : kOfGemm;
    if (!ops.contains(draft.nodes[static_cast<size_t>(after)].op)) continue;
    draft.melt(static_cast<int>(n), after);
    node.activated = true;
  }
}

// MatMul and a constant Add on matrices become one Gemm.
void fuse_matrix_products(Draft& draft) {
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    DraftNode& node = draft.nodes[n];
    if (!node.alive || node.op != "MatMul") continue;
    const Shape* shape = draft.shape(first_output(draft, static_cast<int>(n)));
    int add = next(draft, static_cast<int>(n));
    if (!shape || shape->size() != 2 || !is(draft, add, "Add")) continue;
    if (!reads_constant(draft, draft.nodes[static_cast<size_t>(add)])) continue;
    draft.melt(static_cast<int>(n), add);
    node.op = "Gemm";
  }
}

// x / √2 → Erf → + 1 → · x → · ½ is one Gelu; a constant added before is its bias.
void fuse_gelu(Draft& draft) {
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    if (!draft.nodes[n].alive || draft.nodes[n].op != "Erf") continue;
    int erf = static_cast<int>(n), last = erf;
    for (const char* op : {"Add", "Mul", "Mul"}) last = is(draft, next(draft, last), op) ? next(draft, last) : -2;
    int scale = draft.producer[static_cast<size_t>(draft.nodes[n].inputs[0])];
    if (last < 0 || scale < 0) continue;
    int x = draft.nodes[static_cast<size_t>(scale)].inputs[0];
    int bias = draft.producer[static_cast<size_t>(x)];
    DraftNode& gelu = draft.nodes[n];
    draft.melt(erf, last);
    draft.nodes[static_cast<size_t>(scale)].alive = false;
    gelu.op = "Gelu";
    gelu.inputs = {x};
    draft.readers[static_cast<size_t>(x)].push_back(erf);
    if (!is(draft, bias, "Add") || !reads_constant(draft, draft.nodes[static_cast<size_t>(bias)])) continue;
    DraftNode& add = draft.nodes[static_cast<size_t>(bias)];
    gelu.op = "BiasGelu";
    gelu.inputs = add.inputs;
    for (int t : add.inputs)
      if (t >= 0) draft.readers[static_cast<size_t>(t)].push_back(erf);
    add.alive = false;
  }
}

// x · sigmoid(x) is one QuickGelu.
void fuse_swish(Draft& draft) {
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    DraftNode& node = draft.nodes[n];
    if (!node.alive || node.op != "Sigmoid") continue;
    int mul = next(draft, static_cast<int>(n));
    if (!is(draft, mul, "Mul")) continue;
    const auto& inputs = draft.nodes[static_cast<size_t>(mul)].inputs;
    if (std::find(inputs.begin(), inputs.end(), node.inputs[0]) == inputs.end()) continue;
    draft.melt(static_cast<int>(n), mul);
    node.op = "QuickGelu";
  }
}

}  // namespace

Draft::Draft(const model::Graph& from, const cost::Residency& what) : graph(from), residency(what) {
  size_t tensors = from.tensors.size();
  bytes.reserve(tensors);
  for (size_t t = 0; t < tensors; ++t) {
    bytes.push_back(tensor_bytes(from.tensors[t]));
    like.push_back(static_cast<int>(t));
    weight.push_back(what.constant[t]);
  }
  producer.assign(tensors, -1);
  readers.resize(tensors);
  output.resize(tensors);
  for (int t : from.outputs) output[static_cast<size_t>(t)] = true;
  for (size_t n = 0; n < from.nodes.size(); ++n) {
    if (!what.runs[n]) continue;
    const model::Node& node = from.nodes[n];
    int index = static_cast<int>(nodes.size());
    nodes.push_back({node.op, node.inputs, node.outputs, &node});
    for (int t : what.captured[n]) nodes.back().inputs.push_back(t);
    for (int t : nodes.back().inputs)
      if (t >= 0) readers[static_cast<size_t>(t)].push_back(index);
    for (int t : node.outputs)
      if (t >= 0) producer[static_cast<size_t>(t)] = index;
  }
}

const Shape* Draft::shape(int tensor) const {
  if (tensor < 0) return nullptr;
  const auto& found = graph.tensors[static_cast<size_t>(like[static_cast<size_t>(tensor)])].shape;
  return found ? &*found : nullptr;
}

int Draft::only_reader(int tensor) const {
  if (tensor < 0 || output[static_cast<size_t>(tensor)]) return -1;
  int found = -1;
  for (int reader : readers[static_cast<size_t>(tensor)]) {
    if (!nodes[static_cast<size_t>(reader)].alive || reader == found) continue;
    if (found >= 0) return -1;
    found = reader;
  }
  return found;
}

void Draft::melt(int node, int last) {
  int written = nodes[static_cast<size_t>(last)].outputs[0];
  int until = node;  // everything on the way from node to last goes
  while (until != last) {
    until = only_reader(nodes[static_cast<size_t>(until)].outputs[0]);
    nodes[static_cast<size_t>(until)].alive = false;
  }
  nodes[static_cast<size_t>(node)].outputs = {written};
  producer[static_cast<size_t>(written)] = node;
}

void Draft::redirect(int from, int to) {
  for (int reader : readers[static_cast<size_t>(from)]) {
    for (int& input : nodes[static_cast<size_t>(reader)].inputs)
      if (input == from) input = to;
    readers[static_cast<size_t>(to)].push_back(reader);
  }
}

int Draft::add_tensor(int64_t tensor_size, int shape_of) {
  bytes.push_back(tensor_size);
  like.push_back(shape_of);
  weight.push_back(false);
  producer.push_back(-1);
  readers.emplace_back();
  output.push_back(false);
  return static_cast<int>(bytes.size()) - 1;
}

void fuse(Draft& draft) {
  drop_copies(draft);
  fold_into_convolutions(draft);
  fuse_swish(draft);
  fuse_gelu(draft);
  fuse_matrix_products(draft);
  fuse_activations(draft);
}

}  // namespace ridge::plan
