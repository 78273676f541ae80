// The numbers in tensors, one by one, whatever their type. Exact for every type that a double can hold: not for integers
// beyond 2^53. Not for hot loops over large FP32 tensors, which read floats themselves.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"

namespace ridge::precision {

bool is_floating(DataType type);
bool is_integer(DataType type);  // signed or unsigned; BOOL is not

// Element `index` of packed elements. Of BYTES, byte `index` of the block: equal or not is all that counts there.
double element(DataType type, std::span<const std::byte> data, size_t index);
// All of them.
std::vector<double> elements(const TensorView& tensor);

Tensor copy_of(const TensorView& tensor);

// The same values in another type: between floating-point types (rounded to nearest, too large becomes infinite) or between
// integer types. Errors: any other pair of types; an integer that the type cannot hold. `what` names the tensor.
Result<Tensor> converted(const TensorView& tensor, DataType type, const std::string& what);

}  // namespace ridge::precision
