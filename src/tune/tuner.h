// Tuner: lets Search choose and Contest measure until the budget is spent, then confirms the winner against the
// baseline. The only place of tune/ that reads the clock.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tune/batching.h"
#include "tune/contest.h"
#include "tune/search.h"
#include "tune/store.h"
#include "tune/trial.h"

namespace ridge::tune {

struct TuneOptions {
  Goal goal;
  double seconds = 60;  // for the search; what the store already paid for counts. The confirmation comes on top
  std::function<bool()> interrupted;                                         // polled; may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

// Every trial of the search, from the store or just measured.
struct Explored {
  std::vector<std::pair<Candidate, Trial>> trials;
  int reused = 0;  // of them from the store
  bool interrupted = false;
};
Result<Explored> explore(Search& search, Contest& contest, Store& store, const TuneOptions& options);

enum class Choice {
  kCandidate,  // better than the baseline with confidence, or the only one that meets the goal
  kBaseline,   // nothing is better with confidence
  kNone,       // nothing meets the goal
};

struct Decision {
  Choice choice = Choice::kBaseline;
  Candidate candidate;       // of kNone: the one closest to the goal
  Gain gain;                 // of the candidate, from `trial`
  Trial trial;               // kBaseline: its baseline side is what counts
  bool interrupted = false;  // decided by what was explored, without confirmation
};

// What the results say so far, without measuring; pure. `baseline_p99_ms` decides whether the baseline meets the goal.
Choice choose(const Goal& goal, const Search& search, double baseline_p99_ms);

// Measures the leader once more in turn with the baseline, longer and never from the store; if it is not better with
// confidence the next one gets a chance, then the baseline stands. `untuned` is the baseline against itself.
// Interrupted: decides by what was explored.
Result<Decision> confirm(Search& search, Contest& contest, const Explored& explored, const Trial& untuned,
                         const TuneOptions& options);

// A candidate of an earlier run, measured once more as confirm() does; what it gains is not judged. kCandidate, or
// kBaseline if that is what it is.
Result<Decision> remeasure(const Candidate& candidate, Contest& contest, const Trial& untuned,
                           const TuneOptions& options);

// The chosen candidate at every batch from 1 to twice its own, as far as `most_batch`: from the search, from the store, or
// measured shortly; what was measured at another time is scaled by what the untuned model did in turn with it, since machines
// drift. What fails or is interrupted is left out.
Result<std::vector<BatchPoint>> measure_curve(const Decision& decision, int64_t most_batch, const Search& search,
                                              Contest& contest, Store& store, const TuneOptions& options);

}  // namespace ridge::tune
