// SharedTuner: lets SplitSearch choose and SharedContest measure until the budget is spent, then confirms the winner against
// the untuned models together. Reads the clock.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tune/share/shared_contest.h"
#include "tune/share/split_search.h"
#include "tune/store.h"
#include "tune/tuner.h"

namespace ridge::tune::share {

struct SharedExplored {
  int trials = 0, reused = 0;  // measurements of splits; of them from the store
  bool interrupted = false;
};
// Of `options` the goal is not read: the members have theirs.
Result<SharedExplored> explore_splits(SplitSearch& search, SharedContest& contest, Store& store,
                                      const TuneOptions& options);

struct SharedDecision {
  Choice choice = Choice::kBaseline;
  Split split;        // of kNone: the closest to the goals
  Gain gain;          // of the value, from `trial`
  SharedTrial trial;  // kBaseline: its untuned sides are what counts
  bool interrupted = false;
};

// As confirm() of tuner.h, of splits. `untuned` is the untuned models against themselves.
Result<SharedDecision> confirm_split(SplitSearch& search, SharedContest& contest, const SharedExplored& explored,
                                     const SharedTrial& untuned, const TuneOptions& options);

// What the untuned models' figures mean for the goals.
Score untuned_score(std::span<const Member> members, const SharedTrial& trial);

}  // namespace ridge::tune::share
