#include "tune/load_goal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/units.h"
#include "sizing/capacity.h"

namespace ridge::tune {
namespace {

// The load on the instances as measured: a run's mean time follows from the rows/s of all of them kept busy.
sizing::Capacity under_load(const ModelGoal& goal, const Candidate& candidate, const Figures& figures) {
  const double rows_at_once = static_cast<double>(candidate.instances) * static_cast<double>(candidate.batch);
  sizing::Load load;
  load.rows_per_s = *goal.rows_per_s;
  load.p99_ms = goal.p99_ms;
  return sizing::with_instances(load, {candidate.batch, 1e3 * rows_at_once / figures.rows_per_s, "measured"},
                                candidate.instances);
}

void lower(Fulfilment& fulfilment, double ratio, const std::string& miss) {
  fulfilment.ratio = std::min(fulfilment.ratio, ratio);
  if (ratio >= 1) return;
  fulfilment.miss += (fulfilment.miss.empty() ? "" : "; ") + miss;
}

void judge_load(const ModelGoal& goal, const Candidate& candidate, const Figures& figures, Fulfilment& fulfilment) {
  const sizing::Capacity busy = under_load(goal, candidate, figures);
  const double most = sizing::Load{}.most_utilisation;
  fulfilment.utilisation = busy.utilisation;
  // The capacity counts every run at its mean; the tail of the runs is added, on the safe side.
  fulfilment.request_p99_ms = busy.p99_ms - busy.service.ms + std::max(busy.service.ms, figures.p99_ms);
  lower(fulfilment, most / busy.utilisation,
        fmt::format("{} keep it {} busy, more than {}", format_row_rate(*goal.rows_per_s),
                    format_percent(100 * busy.utilisation), format_percent(100 * most)));
  if (!goal.p99_ms) return;
  lower(fulfilment, *goal.p99_ms / fulfilment.request_p99_ms,
        std::isfinite(fulfilment.request_p99_ms)
            ? fmt::format("a request's p99 is {}, above {}", format_ms(fulfilment.request_p99_ms),
                          format_ms(*goal.p99_ms))
            : "requests arrive faster than they are answered");
}

}  // namespace

Fulfilment fulfilment_of(const ModelGoal& goal, const Candidate& candidate, const Figures& figures) {
  Fulfilment fulfilment;
  fulfilment.ratio = std::numeric_limits<double>::infinity();
  if (goal.rows_per_s) {
    judge_load(goal, candidate, figures, fulfilment);
  } else if (goal.p99_ms) {
    lower(fulfilment, *goal.p99_ms / figures.p99_ms,
          fmt::format("the p99 of a run is {}, above {}", format_ms(figures.p99_ms), format_ms(*goal.p99_ms)));
  }
  return fulfilment;
}

measure::Interval judged_interval(const ModelGoal& goal, const Candidate& candidate, const Figures& figures) {
  if (!goal.rows_per_s) return figures.p99_ci95_ms;
  const auto request = [&](std::optional<double> p99_ms) {
    Figures at_end = figures;
    at_end.p99_ms = p99_ms.value_or(0);
    return p99_ms ? std::optional(fulfilment_of(goal, candidate, at_end).request_p99_ms) : p99_ms;
  };
  return {request(figures.p99_ci95_ms.low), request(figures.p99_ci95_ms.high)};
}

bool undecided(const ModelGoal& goal, const Candidate& candidate, const Figures& figures) {
  return goal.p99_ms && judged_interval(goal, candidate, figures).includes(*goal.p99_ms);
}

}  // namespace ridge::tune
