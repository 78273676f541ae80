// How weights are stored: integers or short floats in groups that share a scale. Immutable.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/name_table.h"
#include "base/result.h"

namespace ridge::checkpoint {

// kFp8: one scale per tensor or row; kFp8Block: per block of 128 × 128 (DeepSeek); kNvfp4: an FP8 scale per 16 values;
// kMxfp4: a power of two per 32; kInt4: scale and zero point per group of 128 (GPTQ, AWQ); kInt8: weights and
// activations; kQ80, kQ6K, kQ4KM: llama.cpp's.
enum class WeightFormat { kFp32, kBf16, kFp16, kFp8, kFp8Block, kInt8, kNvfp4, kMxfp4, kInt4, kQ80, kQ6K, kQ4KM };
NameTable<WeightFormat> names_of(WeightFormat);
Result<WeightFormat> weight_format(std::string_view name);

double bits_of(WeightFormat format);        // of a weight, with its share of scales and zero points
double other_bits_of(WeightFormat format);  // of what is not quantised: embedding, head, norms and biases

}  // namespace ridge::checkpoint
