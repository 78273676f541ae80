// Tuning: what a tuning run found, beside the untuned baseline and the machine's limit. The `tune` JSON contract.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cost/costs.h"
#include "hw/machine.h"
#include "measure/measurement.h"
#include "tune/drift.h"
#include "tune/tuner.h"

namespace ridge::tune {

struct Tuning {
  hw::Machine machine;
  Goal goal;
  measure::Measurement baseline, best;  // from one interleaved trial
  Candidate candidate;                  // what `best` is
  Choice choice = Choice::kBaseline;
  Gain gain;                 // of the objective, best over baseline
  double noise_percent = 0;  // half-width of the interval of the baseline against itself, same number of slices
  Drift drift;
  std::vector<Standing> pareto;
  int trials = 0, reused = 0;        // measurements of the search; of them from the store
  int candidates = 0, measured = 0;  // of the space
  std::vector<Skipped> skipped;
  bool interrupted = false;
  double seconds = 0;
  std::string batching;    // why rows are not merged; empty = they may be
  std::string repository;  // folder of the version written; empty = none
};

// What was tuned, on what.
struct Subject {
  const hw::Machine& machine;
  const plan::Plan& plan;  // at batch 1
  const engine::Info& info;
  std::span<const PricedImplementation> implementations;
};

// All but drift, batching, seconds and repository. `untuned` is the baseline against itself.
Tuning summarise(const Subject& subject, const Goal& goal, const Search& search, const Explored& explored,
                 const Decision& decision, const Trial& untuned);

// The largest batch that was measured and met the goal.
int64_t verified_batch(const Search& search);

// One plain sentence: what changed, what it gained, what limits it now.
std::string conclusion(const Tuning& tuning);

Json to_json(const Tuning& tuning);

}  // namespace ridge::tune
