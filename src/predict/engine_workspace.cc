#include "predict/engine_workspace.h"

#include <algorithm>
#include <memory>

#include "cost/costs.h"
#include "cost/residency.h"
#include "model/domains.h"

namespace ridge::predict {
namespace {

using Body = std::shared_ptr<const model::Graph>;

int64_t product_from(const Shape& shape, size_t first) {
  int64_t all = 1;
  for (size_t i = first; i < shape.size(); ++i) all *= shape[i];
  return all;
}

// What is alive while a body runs: the largest of several, of which one runs at a time.
int64_t bodies_bytes(const model::Node& node) {
  double most = 0;
  for (const auto& [name, attribute] : node.attributes)
    if (const Body* body = std::get_if<Body>(&attribute); body != nullptr && *body)
      most = std::max(most, cost::count(**body).peak_activation_bytes);
  return static_cast<int64_t>(most);
}

// The shapes of input and weight of a node and of its output, all known; `weight` is where the weight stands.
struct SizedOperands {
  const Shape *x = nullptr, *w = nullptr, *y = nullptr;
  bool known() const { return x != nullptr && w != nullptr && y != nullptr; }
};

const Shape* sized_shape(const model::Graph& graph, int t) {
  if (t < 0 || !graph.tensors[static_cast<size_t>(t)].shape) return nullptr;
  const Shape& shape = *graph.tensors[static_cast<size_t>(t)].shape;
  return std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size >= 0; }) ? &shape : nullptr;
}

SizedOperands operands_of(const model::Graph& graph, const model::Node& node, size_t weight) {
  if (node.inputs.size() <= weight || node.outputs.empty()) return {};
  return {sized_shape(graph, node.inputs[0]), sized_shape(graph, node.inputs[weight]),
          sized_shape(graph, node.outputs[0])};
}

// The windows of one image and group, for a convolution in plain layout (im2col); none for a kernel of one.
int64_t windows_bytes(const model::Node& node, const SizedOperands& o) {
  if (!o.known() || o.w->size() != 4 || o.x->size() != 4 || o.y->size() != 4) return 0;
  const int64_t window = product_from(*o.w, 2) * 4;
  if (node.op == "ConvTranspose") return window * (*o.w)[1] * product_from(*o.x, 2);
  return window == 4 ? 0 : window * (*o.w)[1] * product_from(*o.y, 2);
}

// providers/cpu/quantization/qlinearconv.cc: pointers to the window of each position where the packed filters allow it (as in
// engine_weights.cc), else sums of 32 bits and the windows of one image.
int64_t integer_convolution_bytes(const model::Node& node, const SizedOperands& o) {
  if (!o.known() || o.w->size() < 3 || o.y->size() != o.w->size()) return 0;
  const int64_t out = (*o.w)[0], in = (*o.w)[1], taps = product_from(*o.w, 2), positions = product_from(*o.y, 2);
  const int64_t group = model::attribute_or<int64_t>(node, "group", 1);
  const bool depthwise = in == 1 && out == group, symmetric = group == 1 && in % 4 == 0 && out % 16 == 0;
  constexpr int64_t kPointer = 8, kSum = 4;
  if (depthwise || symmetric) return taps > 1 ? kPointer * taps * positions : 0;
  return kSum * out * positions + (taps > 1 ? in * taps * positions : 0);
}

// rnn/uni_directional_lstm.cc, deep_cpu_gru.cc, AllocateBuffers: the gates of all steps of all directions; a direction that goes
// backwards has its input and output turned round too.
int64_t recurrent_bytes(const model::Node& node, const SizedOperands& o) {
  if (!o.known() || o.x->size() != 3 || o.w->size() != 3) return 0;
  const int64_t rows = (*o.x)[0] * (*o.x)[1], gates = node.op == "LSTM" ? 4 : node.op == "GRU" ? 3 : 1;
  const bool backwards = model::attribute_or<std::string>(node, "direction", "forward") != "forward";
  const int64_t turned = backwards ? rows * ((*o.x)[2] + (*o.w)[1] / gates) : 0;
  return 4 * (rows * (*o.w)[0] * (*o.w)[1] + turned);
}

}  // namespace

int64_t workspace_bytes(const model::Graph& executed, const model::Node& node) {
  if (cost::has_body(node)) return bodies_bytes(node);
  if (node.domain == model::kBlocked) return 0;
  const SizedOperands operands = operands_of(executed, node, 1);
  if (node.op == "Conv" || node.op == "FusedConv" || node.op == "ConvTranspose") return windows_bytes(node, operands);
  if (node.op == "LSTM" || node.op == "GRU" || node.op == "RNN") return recurrent_bytes(node, operands);
  if (node.op == "QLinearConv")
    return integer_convolution_bytes(node, operands_of(executed, node, node.inputs.size() > 3 ? 3 : 1));
  return 0;
}

}  // namespace ridge::predict
