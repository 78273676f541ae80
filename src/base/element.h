// Single elements of tensors of any type. Exact but for integers beyond 2^53. Hot loops over large FP32 tensors
// read floats directly.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"

namespace ridge {

bool is_floating(DataType type);
bool is_integer(DataType type);  // signed or unsigned; not BOOL

// Element `index` of packed elements. For BYTES, byte `index` of the block: only equality matters there.
double element(DataType type, std::span<const std::byte> data, size_t index);
// Takes a floating-point type, and rounds to nearest.
void set_element(DataType type, std::byte* data, size_t index, double value);
// All of them.
std::vector<double> elements(const TensorView& tensor);

Tensor copy_of(const TensorView& tensor);

// The same values in another type: between floating-point types (rounded to nearest, overflow becomes infinite) or
// between integer types. Errors: any other pair of types; an integer out of the type's range. `what` names the tensor.
Result<Tensor> converted(const TensorView& tensor, DataType type, const std::string& what);

}  // namespace ridge
