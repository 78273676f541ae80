// The values of one tensor in a message's typed lists (InferTensorContents) → packed memory (base/tensor.h). Pure.
//
// The schema has eight lists; a tensor's type says which one holds it. INT8 and INT16 travel as int32, UINT8 and UINT16
// as uint32; FP16 and BF16 have none and travel as raw contents only.
#pragma once

#include <span>

#include "base/result.h"
#include "base/tensor.h"
#include "front/body.h"
#include "front/grpc/message_bytes.h"

namespace ridge::front::grpc {

// Appends the packed tensor to `into`. `contents`: the bytes of the InferTensorContents. Exactly as many values as the
// shape says, in the list of the type and no other; each must fit the type. Memory follows what was received, at most
// eight times as much. The error does not name the tensor.
Status append_contents(std::span<const std::span<const std::byte>> contents, DataType type, const Shape& shape,
                       Body& into);

}  // namespace ridge::front::grpc
