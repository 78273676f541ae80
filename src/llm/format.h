// How weights and cache are stored and computed, by part of a model. Immutable.
#pragma once

#include <array>
#include <string_view>

#include "base/name_table.h"
#include "base/result.h"
#include "catalogue/catalogue.h"

namespace ridge::llm {

// kFp8: one scale per tensor or row; kFp8Block: per block of 128 × 128 (DeepSeek); kNvfp4: an FP8 scale per 16 values; kMxfp4: a power of two per
// 32; kInt4: weights only, scale and zero point per group of 128 (GPTQ, AWQ); kInt8: weights and activations; kQ80, kQ6K, kQ4KM: llama.cpp's.
enum class Format { kFp32, kBf16, kFp8, kFp8Block, kInt8, kNvfp4, kMxfp4, kInt4, kQ80, kQ6K, kQ4KM };
NameTable<Format> names_of(Format);

struct FormatFacts {
  Format format;
  std::string_view name;
  double bits;  // of a weight, with its share of scales
  // The arithmetic of a GPU that has units for it; another computes in BF16 from weights that are expanded on the way.
  catalogue::Arithmetic arithmetic;
  double activation_bits;  // where the GPU has the arithmetic
  std::string_view law;    // dtype in data/kernel_laws.csv where it has, and where it has not
  std::string_view law_expanded;
  Format tables = Format::kBf16;  // of the embedding and the head in a file of that form
};
const FormatFacts& facts_of(Format format);
Result<Format> format_from_name(std::string_view name);

}  // namespace ridge::llm
