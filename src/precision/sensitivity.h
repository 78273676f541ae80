// Layer sensitivity: the deviation caused by each layer alone in lower precision, and the layers to keep in FP32 so
// that the accuracy guard holds.
//
// Decisions only: the caller's `Attempt`s write and run models. One attempt takes about a second, so a model with more
// layers than the time allows is measured in groups of neighbours, and the costliest groups are halved while time
// lasts.
#pragma once

#include <cmath>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "precision/guard.h"

namespace ridge::precision {

// Judges the model with the nodes in `kept` in FP32 and all other quantisable ones in lower precision.
using Attempt = std::function<Result<AccuracyVerdict>(const std::set<std::string>& kept)>;

struct LayerSensitivity {
  std::string node;
  // Worst over the outputs, with only this layer or its group in lower precision. Infinite (null): not possible.
  Deviation deviation = {HUGE_VAL, HUGE_VAL};
  size_t together = 1;  // layers measured together
  bool kept = false;    // in FP32, in the result
};
void visit_fields(auto& visit, Is<LayerSensitivity> auto& row) {
  visit("node", row.node);
  visit.optional("relative_l2", row.deviation.relative_l2);
  visit.optional("cosine", row.deviation.cosine);
  visit.optional("max_abs", row.deviation.max_abs);
  visit("together", row.together);
  visit("kept", row.kept);
}

struct SensitivityOptions {
  double seconds = 60;                // for the table
  std::function<bool()> interrupted;  // may be empty
  std::function<void(double share)> progress;
  const Clock* clock = &system_clock();
};

// The table, the most costly layer first. `nodes`: the quantisable ones in topological order. A failed attempt counts
// as a layer that cannot be in lower precision (infinite deviation). Error: kCancelled.
Result<std::vector<LayerSensitivity>> measure_sensitivity(const std::vector<std::string>& nodes, const Attempt& attempt,
                                                          const SensitivityOptions& options);

struct KeepList {
  std::set<std::string> kept;
  AccuracyVerdict verdict;  // of the model with it; does not hold if no list does
  int attempts = 0;
};

// The shortest list of the most costly layers of `table` with which `attempt` holds: doubled until it does, then
// narrowed (assumes that keeping more layers never loses accuracy). At least one layer is not kept. Ends early, with
// the shortest list that held so far, when the time is over. Error: that of an attempt; kCancelled.
Result<KeepList> find_keep_list(std::span<const LayerSensitivity> table, const Attempt& attempt,
                                const SensitivityOptions& options);

}  // namespace ridge::precision
