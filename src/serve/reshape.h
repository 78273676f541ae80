// Reshape: a model's shape beside the one that clients see ("reshape" in config.pbtxt). Both have the same elements;
// open dimensions (-1) correspond in order. Batch dimensions are not part of these shapes.
#pragma once

#include "base/result.h"
#include "base/tensor.h"

namespace ridge::serve {

// Checks that every tensor of shape `from` can be seen as `to`: equally many open dimensions, and the same number of
// elements before, between and after them (Triton's rule).
Status check_reshape(const Shape& from, const Shape& to);

// `to` with its open dimensions filled from `actual`, which is an instance of `from`.
Shape reshaped(const Shape& from, std::span<const int64_t> actual, const Shape& to);

// True if `actual` has the rank of `pattern` and its dimensions where they are not open.
bool matches(const Shape& pattern, std::span<const int64_t> actual);

}  // namespace ridge::serve
