// Sizes in whole units. Pure.
#pragma once

#include <type_traits>

namespace ridge {

// The least multiple of `unit` > 0 that holds `value` ≥ 0.
template <typename Integer>
constexpr Integer round_up(Integer value, std::type_identity_t<Integer> unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace ridge
