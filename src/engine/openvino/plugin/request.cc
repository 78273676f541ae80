#include "engine/openvino/plugin/request.h"

#include <algorithm>
#include <memory>
#include <openvino/runtime/tensor.hpp>
#include <utility>

#include "engine/openvino/plugin/tensor_type.h"

namespace ridge::engine::openvino::plugin {
namespace {

// A tensor without elements still needs an address.
std::byte nowhere[64];

ov::Tensor over(DataType type, const Shape& shape, const std::byte* data) {
  // OpenVINO only reads inputs, but its tensor has no const.
  void* memory = data == nullptr ? nowhere : const_cast<std::byte*>(data);
  return ov::Tensor(to_element_type(type), from_shape(shape), memory);
}

}  // namespace

Request::Request(ov::CompiledModel& model)
    : model_(model),
      request_(model.create_infer_request()),
      inputs_(model.inputs().size()),
      outputs_(model.outputs().size()) {}

// Memory of its own; the engine grows it for open dimensions.
ov::Tensor Request::fresh_output(size_t index) const {
  const ov::Output<const ov::Node> port = model_.output(index);
  Shape shape = to_shape(port.get_partial_shape());
  std::replace(shape.begin(), shape.end(), int64_t{-1}, int64_t{0});
  return ov::Tensor(port.get_element_type(), from_shape(shape));
}

void Request::place_input(size_t index, const TensorView& tensor) {
  BoundTensor& kept = inputs_[index];
  if (kept.set && kept.data == tensor.data.data() && kept.shape == tensor.shape) return;
  kept.set = false;
  request_.set_input_tensor(index, over(tensor.type, tensor.shape, tensor.data.data()));
  kept = {Memory::kCallers, tensor.data.data(), tensor.shape, true};
}

void Request::place_output(size_t index, const Output& output) {
  BoundTensor& kept = outputs_[index];
  if (output.data.empty()) {
    request_.set_output_tensor(index, fresh_output(index));
    kept = {Memory::kGivenAway, nullptr, {}, false};
    return;
  }
  if (kept.set && kept.data == output.data.data() && kept.shape == output.shape) return;
  kept.set = false;
  request_.set_output_tensor(index, over(output.type, output.shape, output.data.data()));
  kept = {Memory::kCallers, output.data.data(), output.shape, true};
}

void Request::place_nowhere(size_t index) {
  BoundTensor& kept = outputs_[index];
  if (kept.memory == Memory::kOwn) return;
  request_.set_output_tensor(index, fresh_output(index));
  kept = {};
}

Status Request::take(size_t index, const TensorSpec& spec, Output& output) {
  ov::Tensor tensor = request_.get_output_tensor(index);
  Shape shape = to_shape(tensor.get_shape());
  if (outputs_[index].memory == Memory::kCallers) {
    if (shape == output.shape) return {};
    return Error{Code::kInvalid, "output '" + spec.name + "' has shape " + shape_text(shape) +
                                     ", the given memory is for " + shape_text(output.shape)};
  }
  auto held = std::make_shared<ov::Tensor>(std::move(tensor));
  output.type = spec.type;
  output.shape = std::move(shape);
  output.data = {static_cast<std::byte*>(held->data()), held->get_byte_size()};
  output.owner = std::move(held);
  return {};
}

}  // namespace ridge::engine::openvino::plugin
