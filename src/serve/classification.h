// Classification extension: a tensor of scores becomes its top classes as text, "value:index" or "value:index:label".
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "serve/service.h"

namespace ridge::serve {

// Integers of every width, FP32, FP64.
bool can_classify(DataType type);

// Appends the min(k, n) largest of `row`'s n values to `block` as elements of a BYTES tensor, largest first; of equal
// values the one with the smaller index first, NaN last. Floats are printed as C's "%f", integers plain; the label
// follows where `labels` has a non-empty one for the index. Returns the number of elements. Needs can_classify(type).
size_t append_top_classes(DataType type, std::span<const std::byte> row, size_t k,
                          const std::vector<std::string>& labels, std::vector<std::byte>& block);

// The top k classes of `scores`; of each row where it has a batch dimension. May throw std::bad_alloc.
ResponseOutput top_classes(ResponseOutput scores, int64_t k, const std::vector<std::string>& labels, bool batching);

}  // namespace ridge::serve
