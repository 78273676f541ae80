#include "cost/count_node.h"

#include <algorithm>
#include <numeric>

#include "cost/rules.h"
#include "model/packed_weights.h"

namespace ridge::cost {
namespace {

// [bytes] of an FP32 element when arithmetic and storage change to `precision`.
double replaced_size(Precision precision) {
  switch (precision) {
    case Precision::kFp64: return 8;
    case Precision::kFp32:
    case Precision::kTf32: return 4;
    case Precision::kFp16:
    case Precision::kBf16: return 2;
    case Precision::kFp8:
    case Precision::kInt8: return 1;
    default: return 4;
  }
}

// Precision of arithmetic on operands of that type.
Precision precision_of(DataType type, Precision replaced) {
  switch (type) {
    case DataType::kFp64: return Precision::kFp64;
    case DataType::kFp16: return Precision::kFp16;
    case DataType::kBf16: return Precision::kBf16;
    case DataType::kInt8:
    case DataType::kUint8: return Precision::kInt8;
    case DataType::kFp32: return replaced;
    default: return Precision::kFp32;
  }
}

bool is_parameter(DataType type) {
  switch (type) {
    case DataType::kFp16:
    case DataType::kBf16:
    case DataType::kFp32:
    case DataType::kFp64:
    case DataType::kInt8:
    case DataType::kUint8: return true;
    default: return false;
  }
}

// Operators on the same tensor twice (x·x) read it once.
bool named_before(const model::Node& node, size_t i) {
  if (i >= node.inputs.size() || node.inputs[i] < 0) return false;
  auto end = node.inputs.begin() + static_cast<std::ptrdiff_t>(i);
  return std::find(node.inputs.begin(), end, node.inputs[i]) != end;
}

// A tensor of unknown size leaves the bytes a lower bound; a view moves none, so it does not matter there.
bool sizes_known(std::span<const Operand> operands) {
  return std::all_of(operands.begin(), operands.end(), [](const Operand& operand) {
    return !operand.present || (Context::known(operand) && stored_size(operand.type, Precision::kFp32) > 0);
  });
}

void sum_up(Context& context) {
  NodeCost& cost = context.work.cost;
  for (size_t i = 0; i < context.inputs.size(); ++i) {
    if (named_before(context.node, i)) context.work.read[i] = 0;
    cost.bytes_read += context.work.read[i];
    if (!context.inputs[i].present || !context.inputs[i].weight || named_before(context.node, i)) continue;
    cost.weight_bytes += context.work.read[i];
    cost.parameters += parameters_of(context.node, i, context.inputs[i].type, context.inputs[i].shape);
  }
  cost.bytes_written += std::accumulate(context.work.written.begin(), context.work.written.end(), 0.0);
}

}  // namespace

int64_t parameters_of(const model::Node& node, size_t i, DataType type, const std::optional<Shape>& shape) {
  const bool statistics = i >= 3 && operator_of(node.domain, node.op).is(Trait::kRunningStatistics);
  if (!shape || !is_parameter(type) || statistics) return 0;
  constexpr int64_t kMost = 1'000'000'000'000'000;  // prevents overflow on a hostile file
  const int64_t values = model::values_of(node, i, type, std::min(element_count(*shape).value_or(0), kMost));
  return values > 1 ? values : 0;
}

double stored_size(DataType type, Precision precision) {
  return type == DataType::kFp32 ? replaced_size(precision) : static_cast<double>(data_type_size(type));
}

NodeWork work_of(const model::Node& node, std::span<const Operand> inputs, std::span<const Operand> outputs,
                 Precision precision) {
  Context context(node, inputs, outputs, precision);
  NodeCost& cost = context.work.cost;
  cost.name = node.name;
  cost.op = node.op;
  DataType type = inputs.empty() ? (outputs.empty() ? DataType::kInvalid : outputs[0].type) : inputs[0].type;
  cost.precision = precision_of(type, precision);
  if (const Rule* rule = find_rule(node.domain, node.op)) {
    cost.kernel = rule->facts.kernel;
    rule->function(context, rule->factor);
  } else {
    cost.has_rule = false;
  }
  if (!context.work.view && !(sizes_known(inputs) && sizes_known(outputs))) context.mark_unknown();
  sum_up(context);
  return std::move(context.work);
}

NodeCost count_node(const model::Node& node, std::span<const Operand> inputs, std::span<const Operand> outputs,
                    Precision precision) {
  return work_of(node, inputs, outputs, precision).cost;
}

}  // namespace ridge::cost
