#include "sizing/backward.h"

#include <algorithm>

#include "cost/operators.h"

namespace ridge::sizing {
namespace {

using cost::Backward;
using Operands = std::vector<BackwardOperand>;

double elements(const BackwardOperand& operand) {
  if (!operand.shape) return 0;
  double count = 1;
  for (int64_t dimension : *operand.shape) count *= static_cast<double>(std::max<int64_t>(dimension, 0));
  return count;
}

bool wants(const Operands& operands, size_t i) { return i < operands.size() && operands[i].wants_gradient; }

bool any_other_wants(const Operands& operands, size_t but) {
  for (size_t i = 0; i < operands.size(); ++i)
    if (i != but && operands[i].wants_gradient) return true;
  return false;
}

void keep_factors(const Operands& inputs, SavedTensors& kept) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (any_other_wants(inputs, i)) kept.inputs.push_back(i);
}

void keep_all(const Operands& inputs, const Operands& outputs, SavedTensors& kept) {
  for (size_t i = 0; i < inputs.size(); ++i) kept.inputs.push_back(i);
  for (size_t i = 0; i < outputs.size(); ++i) kept.outputs.push_back(i);
}

// Values normalised together: instances × channels (of [N, C, …]), channels alone for a whole batch.
double channel_statistics(const BackwardOperand& x, bool whole_batch) {
  if (!x.shape || x.shape->size() < 2) return 0;
  double channels = static_cast<double>(std::max<int64_t>((*x.shape)[1], 0));
  return 2 * channels * (whole_batch ? 1 : static_cast<double>(std::max<int64_t>((*x.shape)[0], 0)));
}

double row_statistics(const model::Node& node, const BackwardOperand& x) {
  if (!x.shape || x.shape->empty()) return 0;
  int64_t rank = static_cast<int64_t>(x.shape->size());
  int64_t axis = model::attribute_or<int64_t>(node, "axis", -1);
  if (axis < 0) axis += rank;
  double rows = 1;
  for (int64_t d = 0; d < std::min(axis, rank); ++d)
    rows *= static_cast<double>(std::max<int64_t>((*x.shape)[static_cast<size_t>(d)], 0));
  return 2 * rows;
}

void apply(Backward rule, const model::Node& node, const Operands& inputs, const Operands& outputs,
           SavedTensors& kept) {
  const BackwardOperand none;
  const BackwardOperand& x = inputs.empty() ? none : inputs[0];
  const BackwardOperand& y = outputs.empty() ? none : outputs[0];
  switch (rule) {
    case Backward::kNoGradient:
    case Backward::kKeepsNothing: return;
    case Backward::kKeepsInput: kept.inputs = {0}; return;
    case Backward::kKeepsOutput: kept.outputs = {0}; return;
    case Backward::kKeepsInputAndOutput: kept.inputs = {0}, kept.outputs = {0}; return;
    case Backward::kKeepsFactors: return keep_factors(inputs, kept);
    case Backward::kKeepsInputForWeight:
      if (wants(inputs, 1)) kept.inputs.push_back(0);
      if (wants(inputs, 0)) kept.inputs.push_back(1);
      return;
    case Backward::kKeepsQuotient:
      if (wants(inputs, 1)) kept.inputs.push_back(0);
      kept.inputs.push_back(1);
      return;
    case Backward::kKeepsPower:
      kept.inputs = {0};
      if (wants(inputs, 1)) kept.outputs = {0};
      return;
    case Backward::kKeepsIndices: kept.inputs = {1}; return;
    case Backward::kKeepsSecondOutput: kept.outputs = {1}; return;
    case Backward::kKeepsAllInputs: return keep_all(inputs, {}, kept);
    case Backward::kKeepsWholeBatchNorm: kept.inputs = {0}, kept.extra_elements = channel_statistics(x, true); return;
    case Backward::kKeepsChannelNorm: kept.inputs = {0}, kept.extra_elements = channel_statistics(x, false); return;
    case Backward::kKeepsRowNorm: kept.inputs = {0}, kept.extra_elements = row_statistics(node, x); return;
    case Backward::kKeepsMaxima: kept.inputs = {0}, kept.mask_bytes = 8 * elements(y); return;
    case Backward::kKeepsMask: kept.mask_bytes = elements(x); return;
    case Backward::kKeepsLstmGates:
      kept.inputs = {0}, kept.outputs = {0}, kept.extra_elements = 6 * elements(y);
      return;
    case Backward::kKeepsGruGates: kept.inputs = {0}, kept.outputs = {0}, kept.extra_elements = 4 * elements(y); return;
    case Backward::kUnknownGradient: kept.has_rule = false; return keep_all(inputs, outputs, kept);
  }
}

const cost::Operator& row_of(const model::Node& node) { return cost::operator_of(node.domain, node.op); }

}  // namespace

SavedTensors kept_for_backward(const model::Node& node, const Operands& inputs, const Operands& outputs) {
  SavedTensors kept;
  if (std::any_of(inputs.begin(), inputs.end(), [](const auto& operand) { return operand.wants_gradient; }))
    apply(row_of(node).backward, node, inputs, outputs, kept);
  return kept;
}

bool is_differentiable(const model::Node& node) { return row_of(node).backward != Backward::kNoGradient; }

bool is_view_in_training(const model::Node& node) {
  const cost::Operator& row = row_of(node);
  return (row.rearranges() || row.values == cost::Values::kSelected) && row.backward == Backward::kKeepsNothing;
}

}  // namespace ridge::sizing
