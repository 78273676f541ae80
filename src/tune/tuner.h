// Tuner: searches the candidates of one model and confirms the best (search_and_confirm.h), with the follow-ups: a
// candidate of an earlier run measured again, the curve over the batch.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "tune/batching.h"
#include "tune/interleaved_benchmark.h"
#include "tune/search.h"
#include "tune/search_and_confirm.h"
#include "tune/store.h"
#include "tune/trial.h"

namespace ridge::tune {

using Exploration = ExplorationOf<Candidate, Trial>;
using Decision = DecisionOf<Candidate, Trial>;

Result<Exploration> explore(Search& search, InterleavedBenchmark& benchmark, Store& store, const TuneOptions& options);
// `untuned` is the untuned model against itself.
Result<Decision> confirm(Search& search, InterleavedBenchmark& benchmark, const Exploration& explored,
                         const Trial& untuned, const TuneOptions& options);
// Its trial with the most rounds; null if none succeeded.
const Trial* longest_trial(const Exploration& explored, const Candidate& candidate);

std::optional<Leader<Candidate>> leader_of(const Search& search);

// A candidate of an earlier run, measured once more as confirm() does, without judging its gain. kCandidate, or
// kBaseline if it is the baseline.
Result<Decision> remeasure(const Candidate& candidate, InterleavedBenchmark& benchmark, const Trial& untuned,
                           const TuneOptions& options);

// Batches between 1 and twice the chosen candidate's, up to `most_batch`.
std::vector<int64_t> curve_batches(const Candidate& chosen, int64_t most_batch);

struct BatchCurve {
  std::vector<BatchPoint> points;
  int late = 0;  // points left out because the time was over
};
// "2 of 5 points of the batch curve were not measured".
std::string curve_not_done(int late, const Candidate& chosen, int64_t most_batch);
// The chosen candidate at all of these batches: from the search, from the store, or a short measurement; measurements
// from other times are scaled by the untuned model interleaved with them, since machines change. Failed, interrupted
// and late points are left out.
Result<BatchCurve> measure_curve(const Decision& decision, int64_t most_batch, const Search& search,
                                 InterleavedBenchmark& benchmark, Store& store, const TuneOptions& options);

}  // namespace ridge::tune
