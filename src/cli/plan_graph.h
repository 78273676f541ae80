// The graph that the engine runs, for the forms of `ridge plan` that ask how it runs: what it takes in time and memory.
#pragma once

#include "base/child_process.h"
#include "base/result.h"
#include "model/graph.h"

namespace ridge::cli {

struct Study;

// `bound`: a graph of the study's model. Where the answer takes longer than a second, the bound and a quick estimate are said on stderr
// meanwhile, unless all that is wanted is JSON.
Result<model::Graph> engine_graph(const Study& study, const model::Graph& bound);

// What a process may take that opens a model: nine tenths of the memory that this machine has left.
ChildLimits engine_limits(const Study& study);

}  // namespace ridge::cli
