// How the tensors of a batch lie in one block of memory.
#pragma once

#include <cstddef>

#include "base/rounding.h"

namespace ridge::serve {

constexpr size_t kAlignment = 64;  // [bytes], a cache line and the widest vector register

// `size` [bytes] and the gap after it, so that what follows is aligned.
constexpr size_t padded(size_t size) { return round_up(size, kAlignment); }

}  // namespace ridge::serve
