#include "serve/batch_runner.h"

#include <new>

#include "serve/chunked_run.h"
#include "serve/sequences.h"

namespace ridge::serve {

Status BatchRunner::run_engine(std::span<const TensorView> inputs, int64_t rows) {
  if (settings_.prepared_rows.empty()) return session_.run(inputs, outputs_.wanted(), outputs_.outputs());
  return run_in_parts(session_, parts_of(rows, settings_.prepared_rows), inputs, outputs_.wanted(), outputs_.outputs());
}

// Sets where each job is in the batch. Returns the rows of it all.
int64_t BatchRunner::place(std::span<const JobPtr> jobs) const {
  const bool row_is_slot = settings_.sequences && settings_.sequences->row_is_slot;
  int64_t rows = 0;
  for (const JobPtr& job : jobs) {
    job->first_row = rows;
    if (row_is_slot && job->sequence != nullptr) job->first_row = static_cast<int64_t>(*job->sequence->slot);
    rows = job->first_row + job->rows;
  }
  return rows;
}

Result<std::vector<InferResponse>> BatchRunner::run_steps(std::span<const JobPtr> jobs, BatchTimes& times) {
  const int64_t rows = place(jobs);
  std::span<const TensorView> inputs = inputs_.assemble(jobs, rows);
  outputs_.prepare(jobs, rows);
  times.inputs_ready = clock_.now();
  Status ran = run_engine(inputs, rows);
  times.computed = clock_.now();
  if (!ran) {
    const Code code = ran.error().code == Code::kCancelled ? Code::kUnavailable : Code::kFailed;
    return Error{code, "model '" + settings_.name + "' failed: " + ran.error().message};
  }
  return outputs_.divide(jobs, rows);
}

Result<std::vector<InferResponse>> BatchRunner::run(std::span<const JobPtr> jobs, BatchTimes& times) {
  times.started = times.inputs_ready = times.computed = clock_.now();
  try {
    Result<std::vector<InferResponse>> answers = run_steps(jobs, times);
    times.outputs_ready = clock_.now();
    return answers;
  } catch (const std::bad_alloc&) {
    times.outputs_ready = clock_.now();
    return Error{Code::kFailed, "model '" + settings_.name + "': not enough memory for a batch of " +
                                    std::to_string(jobs.size()) + " request(s)"};
  }
}

}  // namespace ridge::serve
