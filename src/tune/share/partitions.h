// Partitions: every sensible division of the machine's threads and memory among models, from each one's solo results,
// with its expected value and upper limit.
//
// Two kinds. Side by side: each model has its own CPUs, together no more than there are. Time-shared: each may use all
// of them, and the system divides the time. Pure: no measurement. Rejected ones have a reason and a count.
#pragma once

#include <span>
#include <vector>

#include "tune/search.h"
#include "tune/share/co_located_model.h"
#include "tune/space.h"

namespace ridge::tune::share {

using Partition = std::vector<Candidate>;  // one per member, in their order

struct PartitionOption {
  Partition partition;
  std::vector<Figures> expected;  // of each member, if they disturb each other only by using CPUs
  Score expectation;
  // No measurement can exceed this value: no model is faster beside others than alone, and no more CPU time is used
  // than there is. Derived from measured figures, so true up to their noise.
  double most_value = 0;
  double memory_bytes = 0;  // predicted, of the process
  int cpus = 0;             // that all of them may keep busy
  bool in_turns = false;
};

struct PartitionSpace {
  std::vector<PartitionOption> entries;  // the most promising first
  std::vector<SkipCount> skipped;
};

// The points of a model measured alone that may be part of a partition: per number of CPUs the Pareto front in rows/s,
// p99 and memory.
std::vector<SoloPoint> worthwhile(std::vector<SoloPoint> points);

PartitionSpace make_partitions(std::span<const CoLocatedModel> members, const ResourceBudget& budget);

// Unique text: "A: threads=1 … | B: …". Key in the store.
std::string partition_text(std::span<const CoLocatedModel> members, const Partition& partition);
std::string describe_partition(std::span<const CoLocatedModel> members, const Partition& partition);

}  // namespace ridge::tune::share
