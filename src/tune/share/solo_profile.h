// SoloProfile: a model measured alone at every number of CPUs that a partition may give it: one search each; later
// searches reuse earlier measurements from the store. The input of partitions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "machine/machine.h"
#include "model/graph.h"
#include "tune/interleaved_benchmark.h"
#include "tune/share/co_located_model.h"
#include "tune/space.h"
#include "tune/store.h"
#include "tune/tuner.h"

namespace ridge::tune::share {

struct SoloProfile {
  Search whole;                                      // with all CPUs
  Exploration explored;                              // of that search
  std::vector<std::pair<Standing, Trial>> measured;  // of all searches, each candidate once, with its longest trial
};

struct SoloRequest {
  const machine::Machine& machine;
  const model::Graph& graph;
  std::span<const PricedImplementation> implementations;
  SpaceOptions space;
  int trials = 0;  // of each search at most; 0 = no limit
};

// The numbers of CPUs for measuring models alone: all, three quarters, and halves down to one; falling.
std::vector<int> cpu_levels(int cpus);

// `options.seconds`: half of it for all CPUs, the rest for the other numbers alike. Ends early when interrupted.
Result<SoloProfile> explore_alone(const SoloRequest& subject, InterleavedBenchmark& benchmark, Store& store,
                                  const TuneOptions& options);

// The model's part in a partition. Points that miss the goal alone by more than noise are left out (counted in
// `skipped`), unless none would be left. Its solo result is of those that meet a p99 goal, if any. `solo` holds at
// least one.
CoLocatedModel co_located_model_of(const std::string& name, const ModelGoal& goal, const SoloProfile& solo,
                                   std::vector<SkipCount>& skipped);

}  // namespace ridge::tune::share
