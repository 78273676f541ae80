// Passes over a row of logits, four values at a time. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace ridge::generate {

// Added up in 32 bits; for some hundred values.
double sum_of(std::span<const float> values);

// The smallest index of the largest value; values that are not numbers do not count. `row` is not empty.
int32_t index_of_largest(std::span<const float> row);

// weights[i] = exp((row[i] − largest) · scale), relative error below 3e-7, 0 below −87; returns their sum.
double exponentials(std::span<const float> row, float largest, float scale, std::span<float> weights);
// The sum alone.
double sum_of_exponentials(std::span<const float> row, float largest, float scale);

}  // namespace ridge::generate
