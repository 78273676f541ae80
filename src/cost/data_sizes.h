// Sizes that only the data decide: of what NonZero, NonMaxSuppression, Unique and Compress return, and of all that is computed
// from it. A graph has them as unknown or at their most (model::Binding::data_sizes_at_most); no bound may count on them.
// Private to cost/.
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

}  // namespace ridge::cost
