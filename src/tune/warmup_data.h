// Warm-up data: the inputs of one row from the tuning, for the server to run before it serves. Only if the model has
// open dimensions besides the batch: engines prepare for specific shapes, and a server that guesses them prepares for
// the wrong ones.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "engine/engine.h"
#include "model/graph.h"
#include "plan/plan.h"

namespace ridge::tune {

struct WarmupInput {
  std::string name;  // of the input
  DataType type = DataType::kInvalid;
  Shape dims;         // of one row, without the batch dimension where rows are merged
  std::string file;   // beneath the entry's folder warmup/
  std::string bytes;  // packed values, its content
};

// One per input; empty where the signature leaves nothing open except, if `batches`, the first dimension. `plan` has
// the shapes at batch 1; `graph` as for measure::make_inputs().
Result<std::vector<WarmupInput>> warmup_data(const engine::Signature& signature, const plan::Plan& plan,
                                             const model::Graph* graph, bool batches);

}  // namespace ridge::tune
