// Partitions: every way to divide the machine's threads and memory among models that is worth considering, from what each did
// alone, with what is expected of it and what it cannot exceed.
//
// Two kinds. Side by side: each model has CPUs of its own, together no more than there are. In turns: each may use all
// of them, and the system divides the time. Pure: no measurement. What cannot pay is left out with a reason and a count.
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
  std::vector<Figures> expected;  // of each member, if they disturb each other only by taking CPUs
  Score expectation;
  // No measurement of it can have a higher value: no model is faster beside others than alone, and no more CPU time is
  // used than there is. Of figures that were themselves measured, so true up to their noise.
  double most_value = 0;
  double memory_bytes = 0;  // predicted, of the process
  int cpus = 0;             // that all of them may keep busy
  bool in_turns = false;
};

struct PartitionSpace {
  std::vector<PartitionOption> entries;  // the most promising first
  std::vector<SkipCount> skipped;
};

// The points of a model measured alone that may be part of a partition: for each number of CPUs those that no other beats
// in rows/s, p99 and memory at once.
std::vector<SoloPoint> worthwhile(std::vector<SoloPoint> points);

PartitionSpace make_partitions(std::span<const CoLocatedModel> members, const ResourceBudget& budget);

// Unique text: "A: threads=1 … | B: …". Key in the store.
std::string partition_text(std::span<const CoLocatedModel> members, const Partition& partition);
std::string describe_partition(std::span<const CoLocatedModel> members, const Partition& partition);

}  // namespace ridge::tune::share
