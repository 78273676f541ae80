// Tensors over the caller's memory, kept from one run to the next: creating and releasing one takes much of a small
// model's run (0.5 µs of 1.3 µs for one node), and callers who care reuse their memory.
//
// A kept tensor is only a description (address, type, shape). It is reused when the next call has the same ones, and
// never dereferenced in between, so it may outlive the memory it describes. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "engine/onnxruntime/handles.h"
#include "engine/onnxruntime/library.h"

namespace ridge::engine::onnxruntime {

// ok if a tensor of this type, shape and size can be given for `spec`; the engine checks its dimensions.
Status check_tensor(const TensorSpec& spec, DataType type, const Shape& shape, size_t bytes);

class Placements {
 public:
  // Forgets everything unless it belongs to `session`, a number that no other session of the process has.
  void belong_to(uint64_t session, const Library& library, size_t slots);

  // A tensor over `data` for `spec`. Valid until the next call for the same slot. Errors: type or size do not fit.
  Result<OrtValue*> place(size_t slot, const TensorSpec& spec, DataType type, const Shape& shape,
                          std::span<const std::byte> data);

 private:
  struct BoundTensor {
    ValueHandle value;
    std::span<const std::byte> data;
    DataType type = DataType::kInvalid;
    Shape shape;
  };
  uint64_t session_ = 0;
  const Library* library_ = nullptr;
  std::vector<BoundTensor> slots_;
};

}  // namespace ridge::engine::onnxruntime
