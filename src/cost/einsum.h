// The multiply-adds of an Einstein summation, from its equation and shapes.
#pragma once

#include <span>
#include <string_view>

#include "base/tensor.h"

namespace ridge::cost {

struct EinsumWork {
  bool valid = false;      // false: the equation does not fit the shapes
  double macs = 0;         // pairs of operands are contracted from left to right
  double needed_macs = 0;  // unavoidable by any order of contraction; for more than two operands 0
  double other_flops = 0;  // additions of one operand, products without a sum
};

EinsumWork einsum_work(std::string_view equation, std::span<const Shape> shapes);

}  // namespace ridge::cost
