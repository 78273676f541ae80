// Where the tensors of a batch begin in the buffer that they share.
#pragma once

#include <cstddef>

namespace ridge::serve {

constexpr size_t kTensorAlignment = 64;  // [bytes]; as base/tensor.h's Buffer has it, and for the same reasons

constexpr size_t padded(size_t size) { return (size + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment; }

}  // namespace ridge::serve
