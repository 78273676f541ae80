// Data-dependent sizes: results of NonZero, NonMaxSuppression, Unique and Compress, and all computed from them. A graph
// has them as unknown or at their maximum (model::Binding::data_sizes_at_most); no bound may rely on them.
#pragma once

#include <string>
#include <vector>

#include "cost/residency.h"
#include "model/graph.h"

namespace ridge::cost {

struct DataSizes {
  std::vector<bool> tensors;         // its size depends on the data
  std::vector<bool> nodes;           // works on such a tensor
  std::vector<std::string> sources;  // distinct operators with such results, "NonZero × 3"
};

DataSizes data_sizes_of(const model::Graph& graph, const Residency& residency);

// A sentence on the assumptions about such sizes in a graph that has them at their maximum; empty if there are none.
std::string note_on_data_sizes(const model::Graph& graph);

}  // namespace ridge::cost
