// CoLocatedTuner: searches partitions of a machine among several models, confirms the best (search_and_confirm.h).
#pragma once

#include <span>

#include "base/result.h"
#include "tune/interleaved_benchmark.h"
#include "tune/search_and_confirm.h"
#include "tune/share/partition_search.h"
#include "tune/store.h"

namespace ridge::tune::share {

using CoLocatedExploration = ExplorationOf<Partition, CoLocatedTrial>;
using CoLocatedDecision = DecisionOf<Partition, CoLocatedTrial>;

// The goal in `options` is ignored: the members have theirs.
Result<CoLocatedExploration> explore(PartitionSearch& search, InterleavedBenchmark& benchmark, Store& store,
                                     const TuneOptions& options);
// `untuned` is the untuned models against themselves.
Result<CoLocatedDecision> confirm(PartitionSearch& search, InterleavedBenchmark& benchmark,
                                  const CoLocatedExploration& explored, const CoLocatedTrial& untuned,
                                  const TuneOptions& options);

// The untuned models' figures against the goals.
Score untuned_score(std::span<const CoLocatedModel> members, const CoLocatedTrial& trial);

// Every model with its engine's defaults.
Partition untuned_partition(size_t models);

}  // namespace ridge::tune::share
