// The body of an inference request of the Open Inference Protocol. Pure.
#pragma once

#include <span>
#include <string>

#include "base/name_table.h"
#include "base/result.h"
#include "base/tensor.h"

namespace ridge::client {

// How tensors travel: by the extension binary_tensor_data, or as JSON.
enum class Payload { kBinary, kJson };
NameTable<Payload> names_of(Payload);

struct InferBody {
  std::string bytes;
  size_t json_size = 0;  // [bytes] of the JSON at its beginning; binary only
};

// All outputs are asked for, in the same form. Error: FP16 and BF16 have no JSON form; numbers that are
// not finite have none either.
Result<InferBody> infer_body(std::span<const TensorSpec> inputs, std::span<const Tensor* const> tensors,
                             Payload payload);

}  // namespace ridge::client
