// Effort: how long a trial's slices are and how many rounds of them it measures.
#pragma once

#include "measure/stop_rule.h"

namespace ridge::tune {

enum class Effort {
  kShort,  // only needs to show a direction
  kLong,
  kConfirm,  // of one that leads; leaves time to confirm another that may then lead
  kAgain,    // the only one
};

// The share of the time left that a trial may take.
double share_of_rest(Effort effort);

// `search_seconds`: of the whole search, of which a trial takes at most a share; `spent` of that share is already used.
measure::StopOptions rounds_of(Effort effort, double search_seconds, Nanoseconds spent);

constexpr double kSlowRunMs = 250;  // from here on one warm-up run suffices, and slices hold few runs

// A slice in which each of `callers` does whole runs of about `run_ms`: one caller alone needs one, several half a run
// beyond whole ones, so that jitter does not decide whether a run counts.
double slice_ms(double run_ms, int callers, double least_ms);
// Slice of one untuned model beside it: as long, but bounded if the candidate's runs are slow.
double untuned_slice_ms(double own_ms, double least_ms);

}  // namespace ridge::tune
