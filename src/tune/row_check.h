// Row check: whether batched rows give the same results as single rows, by running both.
#pragma once

#include <string>

#include "base/result.h"
#include "precision/deviation.h"
#include "tune/candidate.h"
#include "tune/interleaved_benchmark.h"

namespace ridge::tune {

// Whether rows may be merged into one run.
struct Batching {
  bool possible = false;
  std::string reason;  // why not
};
// A batch may be open in name only: checked by running two different rows together and each alone. For the only model.
Batching check_batching(InterleavedBenchmark& benchmark);

// Outputs of the candidate's one run against the untuned model's on the same inputs, row by row: of a larger batch than
// kRowsAlone so many of its rows, from the first to the last.
constexpr int64_t kRowsAlone = 8;
Result<precision::Deviation> deviation(InterleavedBenchmark& benchmark, const Candidate& candidate);

}  // namespace ridge::tune
