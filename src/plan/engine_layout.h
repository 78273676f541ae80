// Where blocked layouts (NCHWc) run, for engine_graph. Private to plan/.
#pragma once

#include <vector>

#include "plan/engine_draft.h"

namespace ridge::plan {

// The steps that run, copies between layouts included; notes the convolutions' weights in `weights.blocked`. `block` 0: all
// stays plain.
std::vector<DraftNode> block_layouts(Draft& draft, int64_t block, EngineWeights& weights);

}  // namespace ridge::plan
