// Turns: how long and how often two sides of a trial play in turns, and what one of them did. What a contest of candidates
// of one model (contest.h) and one of several models at once (share/shared_contest.h) have in common.
#pragma once

#include <span>

#include "measure/runner.h"
#include "tune/search.h"
#include "tune/trial.h"

namespace ridge::tune {

// How much a trial measures. Short ones only have to show a direction.
struct Extent {
  int pairs;        // of slices, at most
  int least_pairs;  // even if the time is over: an interval needs some
  double share;     // of the time for the whole search
};
Extent extent_of(Effort effort);

constexpr double kSlowRunMs = 250;  // from here on the first run is warm-up enough, and slices are short of runs

// A slice in which each of `callers` does whole runs of about `run_ms`: one caller alone needs one, several half a run beyond
// whole ones, so that jitter does not decide whether a run counts.
double slice_ms(double run_ms, int callers, double least_ms);
// The untuned side's beside it: as long, but not without end where the candidate's runs are slow.
double untuned_slice_ms(double own_ms, double least_ms);

// Of all runs of a side: `latencies_ms` of each, `sums_ms` of their stages.
Side side_of(measure::Runner& runner, std::span<const double> latencies_ms, double rows_per_s,
             const measure::Stages& sums_ms);

}  // namespace ridge::tune
