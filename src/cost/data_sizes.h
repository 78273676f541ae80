// Sizes that only the data decide: of what NonZero, NonMaxSuppression, Unique and Compress return, and of all that is computed
// from it. A graph has them as unknown or at their most (model::Binding::data_sizes_at_most); no bound may count on them.
#pragma once

#include <string>
#include <vector>

#include "cost/residency.h"
#include "model/graph.h"

namespace ridge::cost {

struct DataSizes {
  std::vector<bool> tensors;         // the data decide its size
  std::vector<bool> nodes;           // works on such a tensor
  std::vector<std::string> sources;  // distinct operators that decide, "NonZero × 3"
};

DataSizes data_sizes_of(const model::Graph& graph, const Residency& residency);

// A sentence on what was assumed about such sizes in a graph that has them at their most; empty if there are none.
std::string note_on_data_sizes(const model::Graph& graph);

}  // namespace ridge::cost
