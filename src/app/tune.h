// Finds the fastest way to run a model on this machine and writes a repository ready to serve. Prints nothing; tune()
// is the main path, step by step as docs/architecture.md has it under "Life of a plan".
#pragma once

#include <cstdint>
#include <vector>

#include "app/run_control.h"
#include "app/tune_model.h"
#include "app/tune_request.h"
#include "base/json.h"
#include "base/result.h"
#include "base/tensor.h"
#include "tune/regression.h"
#include "tune/tuning.h"

namespace ridge::app {

struct TuneResult {
  tune::Tuning tuning;
  int64_t verified_batch = 1;                // the largest measured batch that met the goal
  std::vector<tune::FigureChange> compared;  // with what was recorded
  double tolerance_percent = 0;              // of that
  std::vector<TensorSpec> inputs;            // of a request of one row
  Status saved = {};                         // error: the repository was not written
};

// Interrupted after the untuned model was measured: the best so far. Before that: kCancelled.
// `whole`: request.model, read.
Result<TuneResult> tune(const TuneRequest& request, model::WholeModel whole, const RunControl& control,
                        const FirstFigures& first = {});

// True if the answer is no: the goal cannot be met, or the recorded result was better.
bool is_no(const TuneResult& result);
// False: a figure is worse than the recorded one, but other work kept the machine busy.
bool judged(const TuneResult& result);

Json to_json(const TuneResult& result);

}  // namespace ridge::app
