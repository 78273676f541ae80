// What the cases of several experiments are made of: contents and sizes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/experiment.h"

namespace ridge::lab {

// `count` values spread evenly over [-1, 1), the same for the same seed.
std::vector<float> random_values(size_t count, uint32_t seed);

// Floats in an array that no cache holds: a power of two, at least four times the last cache and 16 Mi floats, at most 32 Mi.
// Small setups: 16 Ki.
size_t floats_beyond_caches(const Target& target);

// The end of an argument list that every kernel launch over `count` elements has: one thread per element.
gpu::Launch launch_per_element(std::string kernel, size_t count, size_t threads, std::vector<gpu::Argument> arguments);

// "64 MiB", of floats.
std::string size_text(size_t floats);

}  // namespace ridge::lab
