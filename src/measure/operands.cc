#include "measure/operands.h"

namespace ridge::measure {

std::vector<cost::Operand> operands(const model::Graph& graph, const std::vector<int>& tensors,
                                    const std::vector<std::pair<DataType, Shape>>& seen) {
  std::vector<cost::Operand> list;
  size_t next = 0;
  for (int index : tensors) {
    cost::Operand& operand = list.emplace_back();
    operand.present = index >= 0;
    if (!operand.present) {
      if (next < seen.size() && seen[next].first == DataType::kInvalid) ++next;
      continue;
    }
    const model::TensorInfo& info = graph.tensors[static_cast<size_t>(index)];
    operand.type = info.type;
    operand.shape = info.shape;
    operand.weight = info.role == model::TensorRole::kWeight;
    operand.values = info.constant;
    const bool listed = next < seen.size() && (!operand.weight || (info.shape && *info.shape == seen[next].second));
    if (!listed) continue;
    if (!operand.weight && seen[next].first != DataType::kInvalid) {
      operand.type = seen[next].first;
      operand.shape = seen[next].second;
    }
    ++next;
  }
  return list;
}

}  // namespace ridge::measure
