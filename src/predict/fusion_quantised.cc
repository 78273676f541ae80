// Quantised models in QDQ form: an operator between DequantizeLinear and QuantizeLinear becomes one kernel on integers
// (optimizer/qdq_transformer/selectors_actions, level "extended"); what follows DynamicQuantizeLinear becomes one product.
#include <algorithm>
#include <map>
#include <string_view>

#include "model/domains.h"
#include "predict/fusion_passes.h"

namespace ridge::predict {
namespace {

using model::kMicrosoft;

// Operators that have a kernel of their own on integers, and its name.
std::string_view quantised_kernel(const model::Node& node) {
  static const std::map<std::string_view, std::string_view> kKernels = {
      {"Conv", "QLinearConv"},
      {"MatMul", "QLinearMatMul"},
      {"Gemm", "QGemm"},
      {"Add", "QLinearAdd"},
      {"Mul", "QLinearMul"},
      {"AveragePool", "QLinearAveragePool"},
      {"GlobalAveragePool", "QLinearGlobalAveragePool"},
      {"Concat", "QLinearConcat"},
      {"Sigmoid", "QLinearSigmoid"},
      {"LeakyRelu", "QLinearLeakyRelu"},
      {"Softmax", "QLinearSoftmax"},
      {"Where", "QLinearWhere"},
      // These move values, whatever their type.
      {"MaxPool", "MaxPool"},
      {"Reshape", "Reshape"},
      {"Transpose", "Transpose"},
      {"Flatten", "Flatten"},
      {"Squeeze", "Squeeze"},
      {"Unsqueeze", "Unsqueeze"},
      {"Gather", "Gather"},
      {"Slice", "Slice"},
      {"Resize", "Resize"},
      {"Expand", "Expand"}};
  auto found = node.domain.empty() ? kKernels.find(node.op) : kKernels.end();
  return found == kKernels.end() ? std::string_view() : found->second;
}

// Data, the bias of a product among them, must be quantised; shapes and indices are as they are.
bool is_data(const Rewriter& graph, const model::Node& node, size_t i) {
  return node.inputs[i] >= 0 && graph.tensor(node.inputs[i]).type == DataType::kFp32;
}

// Relu and Clip before a quantisation are its limits (ReluQuantFusion, ClipQuantFusion).
int quantisation_after(const Rewriter& graph, int n, std::vector<int>& between) {
  int next = graph.only_user(graph.node(n).outputs[0]);
  if (graph.is(next, "Relu") || graph.is(next, "Clip")) {
    between.push_back(next);
    next = graph.only_user(graph.node(next).outputs[0]);
  }
  return graph.is(next, "QuantizeLinear") ? next : -1;
}

// A product of integers whose result nobody quantises has a kernel too (MatMulReplaceWithQLinear, GemmReplaceWithQuant).
void become_integer_product_to_real(Rewriter& graph, int n, std::vector<int> inputs) {
  graph.edit(n).op = graph.node(n).op == "Gemm" ? "QGemm" : "MatMulIntegerToFloat";
  graph.edit(n).domain = kMicrosoft;
  graph.set_inputs(n, std::move(inputs));
}

void become_quantised(Rewriter& graph, int n) {
  const model::Node node = graph.node(n);
  const std::string_view kernel = quantised_kernel(node);
  if (kernel.empty() || node.outputs.size() != 1 || node.inputs.empty()) return;
  std::vector<int> inputs = node.inputs, between;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int maker = graph.maker(inputs[i]);
    if (graph.is(maker, "DequantizeLinear"))
      inputs[i] = graph.node(maker).inputs[0];
    else if (is_data(graph, node, i))
      return;
  }
  const int quantisation = quantisation_after(graph, n, between);
  if (quantisation < 0) {
    if (node.op == "MatMul" || node.op == "Gemm") become_integer_product_to_real(graph, n, std::move(inputs));
    return;
  }
  const int result = graph.node(quantisation).outputs[0];
  for (int removed : between) graph.remove(removed);
  graph.remove(quantisation);
  graph.edit(n).op = kernel;
  if (kernel != node.op && kernel != "QLinearMatMul") graph.edit(n).domain = kMicrosoft;
  graph.set_inputs(n, std::move(inputs));
  graph.take_output(n, result);
}

// MatMulInteger → Cast → · scale (→ + bias): the scales of both sides are one factor, made by a small Mul of its own.
void become_float_product(Rewriter& graph, int n) {
  std::vector<int> nodes;
  int last = n;
  for (const char* op : {"Cast", "Mul", "Add"}) {
    const int next = graph.only_user(graph.node(last).outputs[0]);
    if (!graph.is(next, op)) break;
    const std::vector<int>& sides = graph.node(next).inputs;
    const bool bias = std::any_of(sides.begin(), sides.end(), [&](int t) { return graph.constant(t); });
    if (std::string_view(op) == "Add" && !bias) break;
    nodes.push_back(next);
    last = next;
  }
  if (nodes.size() < 2) return;
  const int result = graph.node(last).outputs[0];
  for (int removed : nodes) graph.remove(removed);
  graph.edit(n).op = "MatMulIntegerToFloat";
  graph.edit(n).domain = kMicrosoft;
  graph.take_output(n, result);
}

}  // namespace

void fuse_quantised(Rewriter& graph) {
  for (int n = 0; n < graph.node_count(); ++n)
    if (graph.alive(n)) become_quantised(graph, n);
  for (int n = 0; n < graph.node_count(); ++n)
    if (graph.is(n, "MatMulInteger")) become_float_product(graph, n);
}

}  // namespace ridge::predict
