#include "predict/engine_graph.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_set>

#include "cost/costs.h"
#include "predict/engine_weights.h"
#include "predict/engine_workspace.h"
#include "predict/kernel_work.h"

namespace ridge::predict {
namespace {

using Ops = std::unordered_set<std::string_view>;

// Kernels that may write over their first input, or over either of two: element-wise ones (MayInplace).
size_t overwritable(const std::string& op) {
  static const Ops kOne = {"Relu", "Sigmoid",  "Tanh",     "LeakyRelu", "Clip",  "HardSigmoid", "QuickGelu",  "Abs",
                           "Neg",  "Sqrt",     "Exp",      "Log",       "Floor", "Ceil",        "Reciprocal", "Elu",
                           "Selu", "Softplus", "Softsign", "Not",       "Erf",   "HardSwish",   "Softmax"};
  static const Ops kTwo = {"Add", "Sub", "Mul", "Div", "Sum", "Pow"};
  if (kOne.contains(op)) return 1;
  return kTwo.contains(op) ? 2 : 0;
}

// A convolution adds its fourth input and writes its result there.
bool adds_in_place(const model::Node& node) {
  constexpr size_t kSum = 3;
  return (node.op == "Conv" || node.op == "FusedConv") && node.inputs.size() > kSum && node.inputs[kSum] >= 0;
}

EngineStep step_of(const model::Graph& executed, const model::Node& node) {
  auto constant = [&](int t) { return executed.tensors[static_cast<size_t>(t)].role == model::TensorRole::kWeight; };
  EngineStep step;
  step.op = node.op;
  for (int t : node.inputs)
    if (t >= 0 && !constant(t)) step.reads.push_back(t);
  for (int t : node.outputs)
    if (t >= 0) step.writes.push_back(t);
  step.view = is_view(node.op) && !step.reads.empty() && step.reads[0] == node.inputs[0];
  for (size_t i = 0; i < std::min(overwritable(node.op), step.reads.size()); ++i)
    step.may_overwrite.push_back(step.reads[i]);
  if (adds_in_place(node)) step.may_overwrite = {node.inputs[3]};
  step.workspace_bytes = workspace_bytes(executed, node);
  return step;
}

std::vector<EngineTensor> tensors_of(const model::Graph& executed) {
  std::map<Shape, int> numbers;
  std::vector<EngineTensor> tensors;
  for (const model::TensorInfo& info : executed.tensors) {
    EngineTensor tensor{stored_bytes(info), -1, false, false};
    if (info.shape) tensor.shape = numbers.emplace(*info.shape, static_cast<int>(numbers.size())).first->second;
    tensors.push_back(tensor);
  }
  for (int t : executed.inputs) tensors[static_cast<size_t>(t)].input = true;
  for (int t : executed.outputs)
    if (t >= 0) tensors[static_cast<size_t>(t)].output = true;
  return tensors;
}

}  // namespace

EngineGraph engine_graph(const model::Graph& graph, const EngineTraits& traits) {
  const Execution execution = execution_of(graph, traits);
  EngineGraph result;
  result.nodes = static_cast<int64_t>(graph.nodes.size());
  result.weights = engine_weights(graph, execution);
  result.tensors = tensors_of(execution.graph);
  for (const model::Node& node : execution.graph.nodes) result.steps.push_back(step_of(execution.graph, node));
  for (const model::TensorInfo& info : graph.tensors)
    if (info.role == model::TensorRole::kActivation && !info.shape) result.known = false;
  return result;
}

}  // namespace ridge::predict
