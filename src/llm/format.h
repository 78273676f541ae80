// How GPUs compute with weights of a format. Immutable.
#pragma once

#include <string_view>

#include "catalogue/catalogue.h"
#include "checkpoint/weight_format.h"

namespace ridge::llm {

using checkpoint::WeightFormat;

struct FormatFacts {
  WeightFormat format;
  // The arithmetic of a GPU that has units for it; another computes in BF16 from weights that are expanded on the way.
  Precision arithmetic;
  double activation_bits;  // where the GPU has the arithmetic
  std::string_view law;    // dtype in data/kernel_laws.csv where it has, and where it has not
  std::string_view law_expanded;
  WeightFormat tables = WeightFormat::kBf16;  // of the embedding and the head in a file of that form
};
const FormatFacts& facts_of(WeightFormat format);

}  // namespace ridge::llm
