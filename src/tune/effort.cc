#include "tune/effort.h"

#include <algorithm>

namespace ridge::tune {
namespace {

constexpr double kLongestUntunedSliceMs = 250;
constexpr double kSeveralRuns = 2.5;
constexpr double kSeveralSlowRuns = 1.5;

struct Extent {
  int64_t rounds;       // upper limit
  int64_t sure_rounds;  // an interval needs some
  double share;         // of the search's time
};

Extent extent_of(Effort effort) {
  switch (effort) {
    case Effort::kShort: return {4, 2, 1.0 / 20};
    case Effort::kLong: return {8, 3, 1.0 / 8};
    case Effort::kConfirm:
    case Effort::kAgain: break;
  }
  return {16, 4, 1.0 / 4};
}

}  // namespace

double share_of_rest(Effort effort) { return effort == Effort::kConfirm ? 0.5 : 1; }

measure::StopOptions rounds_of(Effort effort, double search_seconds, Nanoseconds spent) {
  const Extent extent = extent_of(effort);
  measure::StopOptions stop;
  stop.half_width_percent = 0;  // an interval of two or three rounds is narrow by chance
  stop.sure_samples = extent.sure_rounds;
  stop.max_samples = extent.rounds;
  stop.max_time = from_seconds(extent.share * search_seconds) - spent;
  return stop;
}

double slice_ms(double run_ms, int callers, double least_ms) {
  const double runs = callers == 1 ? 1 : run_ms < kSlowRunMs ? kSeveralRuns : kSeveralSlowRuns;
  return std::max(least_ms, runs * run_ms);
}

double untuned_slice_ms(double own_ms, double least_ms) {
  return std::clamp(own_ms, least_ms, std::max(least_ms, kLongestUntunedSliceMs));
}

}  // namespace ridge::tune
