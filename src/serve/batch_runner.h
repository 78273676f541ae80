// BatchRunner runs a batch of jobs on one engine session: inputs together, one execution (in parts of the numbers of
// rows that the engine is prepared for, where it has to be), outputs apart. One thread.
#pragma once

#include <vector>

#include "engine/engine.h"
#include "serve/batch_inputs.h"
#include "serve/batch_outputs.h"
#include "serve/statistics.h"

namespace ridge::serve {

class BatchRunner {
 public:
  // All that is passed outlives it; `clock` gives the times of the stages.
  BatchRunner(const ModelSettings& settings, engine::Session& session, const Clock& clock)
      : settings_(settings), session_(session), clock_(clock), inputs_(settings), outputs_(settings) {}

  // The answers in the order of the jobs, which must be mergeable, and in the order of their slots if rows are slots;
  // or why the whole batch failed (kFailed). The answer of a job that fails by itself afterwards is ignored. Sets
  // `times`.
  Result<std::vector<InferResponse>> run(std::span<const JobPtr> jobs, BatchTimes& times);

 private:
  Result<std::vector<InferResponse>> run_steps(std::span<const JobPtr> jobs, BatchTimes& times);
  int64_t place(std::span<const JobPtr> jobs) const;
  Status run_engine(std::span<const TensorView> inputs, int64_t rows);

  const ModelSettings& settings_;
  engine::Session& session_;
  const Clock& clock_;
  BatchInputs inputs_;
  BatchOutputs outputs_;
};

}  // namespace ridge::serve
