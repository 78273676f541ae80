#include "serve/reshape.h"

#include <vector>

namespace ridge::serve {
namespace {

// Products of the fixed dimensions before the first open one, between them, and after the last.
std::vector<int64_t> segments(const Shape& shape) {
  std::vector<int64_t> products = {1};
  for (int64_t dim : shape) {
    if (dim < 0)
      products.push_back(1);
    else if (__builtin_mul_overflow(products.back(), dim, &products.back()))
      products.back() = -1;
  }
  return products;
}

}  // namespace

Status check_reshape(const Shape& from, const Shape& to) {
  if (segments(from) == segments(to)) return {};
  return Error{Code::kInvalid, "reshape from " + shape_text(from) + " to " + shape_text(to) +
                                   " changes the number of elements or of dynamic dimensions"};
}

Shape reshaped(const Shape& from, std::span<const int64_t> actual, const Shape& to) {
  Shape result = to;
  size_t at = 0;
  for (int64_t& dim : result) {
    if (dim >= 0) continue;
    while (from[at] >= 0) ++at;
    dim = actual[at++];
  }
  return result;
}

bool matches(const Shape& pattern, std::span<const int64_t> actual) {
  if (pattern.size() != actual.size()) return false;
  for (size_t i = 0; i < pattern.size(); ++i)
    if (pattern[i] >= 0 && pattern[i] != actual[i]) return false;
  return true;
}

}  // namespace ridge::serve
