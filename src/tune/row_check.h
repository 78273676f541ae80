// Row check: whether batched rows give the same results as single rows, by running both.
#pragma once

#include <string>

#include "base/result.h"
#include "precision/deviation.h"
#include "tune/candidate.h"
#include "tune/interleaved_benchmark.h"

namespace ridge::tune {

// Says if rows may be merged into one run.
struct Batching {
  bool possible = false;
  std::string reason;  // why not
};
// Checks the only model as the candidate runs it: by its signature, and by runs of rows (measure/joint_rows.h).
Batching check_batching(InterleavedBenchmark& benchmark, const Candidate& candidate);

// Outputs of the candidate's one run against the untuned model's on the same inputs, row by row: for batches above
// kRowsAlone rows, that many rows spread evenly over the batch.
constexpr int64_t kRowsAlone = 8;
Result<precision::Deviation> deviation(InterleavedBenchmark& benchmark, const Candidate& candidate);

}  // namespace ridge::tune
