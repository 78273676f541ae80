// Inputs for measuring a model: seeded random values that are valid for it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "engine/engine.h"
#include "model/graph.h"

namespace ridge::measure {

// One tensor per input of `signature`, of the shape in `shapes` or else the signature's own, complete one.
//   floating point   uniform in [0, 1)
//   integers         below the size of the table that the graph looks them up in (Gather, through casts and reshapes);
//                    without one 0 or 1; 8-bit unsigned: 0 … 255
//   masks, by name   ones
//   BOOL             true
//   BYTES            five letters
// `graph` may be null (fake engine): then no table is known. The same seed gives the same values.
Result<std::vector<Tensor>> make_inputs(const engine::Signature& signature, const std::map<std::string, Shape>& shapes,
                                        const model::Graph* graph, uint64_t seed = 1);

// The number of rows of the smallest constant or known table that `input` indexes; 0 if none is found.
int64_t table_rows(const model::Graph& graph, const std::string& input);

}  // namespace ridge::measure
