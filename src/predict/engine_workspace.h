// Memory that a kernel takes only while it runs, for engine_graph.h. Private to plan/.
#pragma once

#include <cstdint>

#include "model/graph.h"

namespace ridge::predict {

// [bytes] of a node of an executed graph (fusion.h); 0 where it needs none or its sizes are not known.
int64_t workspace_bytes(const model::Graph& executed, const model::Node& node);

}  // namespace ridge::predict
