// Copies on the CPU by loads and stores of a given width, each in its own loop that the compiler does not widen.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ridge::lab::experiments {

// Copies `count` floats, a multiple of 16; neither side need be aligned.
using Copy = void (*)(const float* in, float* out, size_t count);

struct CopyOfWidth {
  size_t bytes;  // per load and store
  Copy copy;
};
// Widths that this CPU can run, from 4 bytes up.
std::span<const CopyOfWidth> copies();

Copy widest_copy();
size_t widest_copy_bytes();

}  // namespace ridge::lab::experiments
