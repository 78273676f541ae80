// Finds the fastest way to run a model on this machine and writes a repository ready to serve. Prints nothing; tune()
// is the main path, step by step as docs/architecture.md has it under "Life of a plan".
#pragma once

#include <cstdint>
#include <vector>

#include "app/run_control.h"
#include "app/tune_model.h"
#include "app/tune_request.h"
#include "base/figure.h"
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

void visit_fields(auto& visit, Is<TuneResult> auto& result) {
  visit_fields(visit, result.tuning);
  visit.unless_empty("compared", result.compared, means("with `--compare`: with what was recorded"));
  visit.when(!result.compared.empty(), [&](auto& comparison) {
    comparison("tolerance_percent", result.tolerance_percent, means("`--tolerance`"));
    comparison.derived("regressed", tune::regressed(result.compared));
    comparison.derived(
        "judged", Derived{judged(result), means("false: a speed is worse but other work kept the machine busy, then or "
                                                "now, or a loss of half of the speed would not show; exit status 3")});
  });
}

}  // namespace ridge::app
