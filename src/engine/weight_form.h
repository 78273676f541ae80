// The forms in which a decoder keeps a language model's weights.
#pragma once

#include "base/name_table.h"

namespace ridge::engine {

// INT8: one scale per row of a matrix, or per group of 32 values where the checkpoint has these. INT4: per group of 32 values of a row. Embeddings and norms stay in 16 or 32 bits.
enum class WeightForm { kFp32, kBf16, kInt8, kInt4 };
NameTable<WeightForm> names_of(WeightForm);  // fp32 bf16 int8 int4

}  // namespace ridge::engine
