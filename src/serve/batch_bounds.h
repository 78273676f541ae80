// The least time that this machine needs for batches of a model, by their rows: what its statistics set beside the time
// that was taken.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/units.h"
#include "model/reader.h"
#include "serve/service.h"

namespace ridge::serve {

// [s] for one run of the graph by all CPUs, FP32 taken as `precision`; 0: not known.
using BoundFunction = std::function<double(const model::Graph& graph, Precision precision)>;

// Thread-safe.
class BatchBounds {
 public:
  BatchBounds(model::UnboundModel model, Precision precision, BoundFunction bound)
      : model_(std::move(model)), precision_(precision), bound_(std::move(bound)) {}

  // True if a run's work depends on its values, not on its shapes alone.
  bool has_subgraphs() const { return model_.has_subgraphs(); }
  // Bound of all runs together [ns]. Absent: not known, as with inputs of open dimensions besides the batch. The first
  // call for a number of rows infers the shapes of the model.
  std::optional<uint64_t> of(std::span<const BatchStatistic> batches) const;

 private:
  double of_rows(uint64_t rows) const RIDGE_REQUIRES(mutex_);

  const model::UnboundModel model_;
  const Precision precision_;
  const BoundFunction bound_;
  mutable Mutex mutex_;
  mutable std::map<uint64_t, double> known_ RIDGE_GUARDED_BY(mutex_);  // [s] by rows; 0: not known
};

}  // namespace ridge::serve
