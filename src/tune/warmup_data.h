// Warm-up data: the inputs of one row that the model was tuned with, for the server to run before it serves. Only where the
// model leaves dimensions open besides the batch: engines prepare themselves for shapes, and a server that has to guess them
// prepares for the wrong ones.
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

// One per input; empty where the signature leaves nothing open but, if `batches`, the first dimension. `plan` has the shapes
// at batch 1; `graph` as for measure::make_inputs().
Result<std::vector<WarmupInput>> warmup_data(const engine::Signature& signature, const plan::Plan& plan,
                                             const model::Graph* graph, bool batches);

}  // namespace ridge::tune
