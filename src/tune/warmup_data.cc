#include "tune/warmup_data.h"

#include <algorithm>

#include "measure/inputs.h"

namespace ridge::tune {
namespace {

bool leaves_open(const TensorSpec& spec, bool batches) {
  const auto first = spec.shape.begin() + (batches && !spec.shape.empty() ? 1 : 0);
  return std::any_of(first, spec.shape.end(), [](int64_t dimension) { return dimension < 0; });
}

// The first row of `tensor`, or all of it where rows are not merged.
WarmupInput first_row(const TensorSpec& spec, const Tensor& tensor, bool batches, size_t number) {
  WarmupInput input{spec.name, tensor.type, tensor.shape, "input-" + std::to_string(number), ""};
  size_t rows = 1;
  if (batches) {
    rows = static_cast<size_t>(std::max<int64_t>(1, input.dims.front()));
    input.dims.erase(input.dims.begin());
  }
  input.bytes.assign(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size() / rows);
  return input;
}

}  // namespace

Result<std::vector<WarmupInput>> warmup_data(const engine::Signature& signature, const plan::Plan& plan,
                                             const model::Graph* graph, bool batches) {
  std::vector<WarmupInput> result;
  if (std::none_of(signature.inputs.begin(), signature.inputs.end(),
                   [&](const TensorSpec& spec) { return leaves_open(spec, batches); }))
    return result;
  RIDGE_ASSIGN(const std::vector<Tensor> tensors, measure::make_inputs(signature, plan.shapes, graph));
  for (size_t i = 0; i < tensors.size(); ++i) result.push_back(first_row(signature.inputs[i], tensors[i], batches, i));
  return result;
}

}  // namespace ridge::tune
