#include "engine/onnxruntime/placements.h"

#include <utility>

#include "engine/onnxruntime/element_type.h"

namespace ridge::engine::onnxruntime {

Status check_tensor(const TensorSpec& spec, DataType type, const Shape& shape, size_t bytes) {
  if (type != spec.type)
    return Error{Code::kInvalid, "tensor '" + spec.name + "' is " + std::string(data_type_name(type)) +
                                     ", the model's is " + std::string(data_type_name(spec.type))};
  std::optional<size_t> needed = byte_size(type, shape);
  if (!needed || *needed != bytes)
    return Error{Code::kInvalid, "tensor '" + spec.name + "' of shape " + shape_text(shape) + " needs " +
                                     (needed ? std::to_string(*needed) : "an unknown number of") + " bytes, given " +
                                     std::to_string(bytes)};
  return {};
}

void Placements::belong_to(uint64_t session, const Library& library, size_t slots) {
  if (session_ == session) return;
  slots_.clear();
  session_ = session;
  library_ = &library;
  slots_.resize(slots);
}

Result<OrtValue*> Placements::place(size_t slot, const TensorSpec& spec, DataType type, const Shape& shape,
                                    std::span<const std::byte> data) {
  Placed& kept = slots_[slot];
  if (kept.value.get() != nullptr && kept.data.data() == data.data() && kept.data.size() == data.size() &&
      kept.type == type && kept.shape == shape)
    return kept.value.get();
  RIDGE_TRY(check_tensor(spec, type, shape, data.size()));
  // ONNX Runtime only reads inputs; its API has no const. A tensor without elements still needs an address.
  static std::byte nowhere[64];
  void* memory = data.empty() ? nowhere : const_cast<std::byte*>(data.data());
  const OrtApi& api = *library_->api;
  ValueHandle value(api);
  RIDGE_TRY(take(api, api.CreateTensorWithDataAsOrtValue(library_->cpu_memory.get(), memory, data.size(), shape.data(),
                                                         shape.size(), to_element_type(type), value.out())));
  kept.value = std::move(value);
  kept.data = data;
  kept.type = type;
  kept.shape = shape;
  return kept.value.get();
}

}  // namespace ridge::engine::onnxruntime
