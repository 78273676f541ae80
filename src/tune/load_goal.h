// A model's goal, and how far measured figures fulfil it. Pure.
#pragma once

#include <optional>
#include <string>

#include "tune/candidate.h"
#include "tune/figures.h"

namespace ridge::tune {

struct ModelGoal {
  std::optional<double> rows_per_s;  // the load that it must carry
  std::optional<double> p99_ms;      // with a load: of a request, including its wait; without: of one run
};

// One model's figures against its goal.
struct Fulfilment {
  double ratio = 1;           // of the goal: 1 or more = met, 0.5 = half of the goal; infinite without a goal
  double utilisation = 0;     // of its instances by the load; 0 = no load given
  double request_p99_ms = 0;  // with a load: of a request, waiting included (derived, sizing/capacity); else 0
  std::string miss;           // why it is not met, in words; empty = it is
  bool met() const { return miss.empty(); }
};
// `candidate` tells instances and batch.
Fulfilment fulfilment_of(const ModelGoal& goal, const Candidate& candidate, const Figures& figures);

// The 95 % interval of what a p99 goal judges: a run's 99th percentile, with a load a request's (derived).
measure::Interval judged_interval(const ModelGoal& goal, const Candidate& candidate, const Figures& figures);
// True if the goal lies inside the interval: the measurement is inconclusive.
bool undecided(const ModelGoal& goal, const Candidate& candidate, const Figures& figures);

}  // namespace ridge::tune
