// The forms in which a decoder keeps a language model's weights.
#pragma once

#include <optional>
#include <string>

#include "base/name_table.h"
#include "base/result.h"

namespace ridge::engine {

// INT8: one scale per row of a matrix, or per group of 32 values where the checkpoint has these. INT4: per group of 32
// values of a row. Embeddings and norms stay in 16 or 32 bits. FP16: only of a folder with a graph
// (checkpoint/graph_folder.h), whose forms are the exporter's.
enum class WeightForm { kFp32, kBf16, kFp16, kInt8, kInt4 };
NameTable<WeightForm> names_of(WeightForm);  // fp32 bf16 fp16 int8 int4

// The form in which a checkpoint is run: what is asked for, by default BF16. A folder with a graph has its own.
// kUnsupported: another one is asked for.
Result<WeightForm> form_of(const std::string& checkpoint, std::optional<WeightForm> asked);

}  // namespace ridge::engine
