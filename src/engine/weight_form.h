// The forms in which a decoder keeps a language model's weights.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "checkpoint/weight_format.h"

namespace ridge::engine {

// INT8: one scale per row of a matrix, or per group of 32 values where the checkpoint has these. INT4: per group of 32
// values of a row. Embeddings and norms stay in 16 or 32 bits. FP16: only of a folder with a graph
// (checkpoint/graph_folder.h), whose forms are the exporter's.
using checkpoint::WeightFormat;
std::vector<WeightFormat> weight_forms();  // those: fp32 bf16 fp16 int8 int4
Result<WeightFormat> weight_form(std::string_view name);

// The form in which a checkpoint is run: what is asked for, by default BF16. A folder with a graph has its own.
// kUnsupported: another one is asked for.
Result<WeightFormat> form_of(const std::string& checkpoint, std::optional<WeightFormat> asked);

}  // namespace ridge::engine
