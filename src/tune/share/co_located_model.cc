#include "tune/share/co_located_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/units.h"
#include "sizing/capacity.h"

namespace ridge::tune::share {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

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
        fmt::format("{:.4g} rows/s keep it {} busy, more than {}", *goal.rows_per_s,
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
  fulfilment.ratio = kNoLimit;
  if (goal.rows_per_s) {
    judge_load(goal, candidate, figures, fulfilment);
  } else if (goal.p99_ms) {
    lower(fulfilment, *goal.p99_ms / figures.p99_ms,
          fmt::format("the p99 of a run is {}, above {}", format_ms(figures.p99_ms), format_ms(*goal.p99_ms)));
  }
  return fulfilment;
}

int cpus_of(const Candidate& candidate) {
  return std::max(1, candidate.threads) * candidate.inter_op_threads * candidate.instances;
}

bool all_have_loads(std::span<const CoLocatedModel> members) {
  return std::all_of(members.begin(), members.end(),
                     [](const CoLocatedModel& m) { return m.goal.rows_per_s.has_value(); });
}

const char* value_name(std::span<const CoLocatedModel> members) {
  return all_have_loads(members) ? "times the loads" : "least share of the throughput alone";
}

double value_of(std::span<const CoLocatedModel> members, std::span<const double> rows_per_s) {
  const bool loads = all_have_loads(members);
  double least = kNoLimit;
  for (size_t i = 0; i < members.size(); ++i) {
    if (loads)
      least = std::min(least, rows_per_s[i] / *members[i].goal.rows_per_s);
    else if (!members[i].goal.rows_per_s)
      least = std::min(least, rows_per_s[i] / members[i].alone.figures.rows_per_s);
  }
  return least;
}

Score score_of(std::span<const CoLocatedModel> members, std::span<const Candidate> partition,
               std::span<const Figures> figures) {
  Score score;
  std::vector<double> rates;
  for (size_t i = 0; i < members.size(); ++i) {
    const Fulfilment fulfilment = fulfilment_of(members[i].goal, partition[i], figures[i]);
    score.met = score.met && fulfilment.met();
    score.closeness = std::min(score.closeness, fulfilment.ratio);
    rates.push_back(figures[i].rows_per_s);
  }
  score.value = value_of(members, rates);
  return score;
}

std::vector<double> gains_of(const CoLocatedTrial& trial, std::span<const CoLocatedModel> members) {
  std::vector<double> gains;
  for (const CoLocatedRound& round : trial.rounds)
    gains.push_back(std::log(value_of(members, round.candidate) / value_of(members, round.untuned)));
  return gains;
}

std::vector<Figures> candidate_figures(const CoLocatedTrial& trial) {
  std::vector<Figures> figures;
  for (const Trial& model : trial.models) figures.push_back(model.candidate.figures());
  return figures;
}

std::vector<Figures> untuned_figures(const CoLocatedTrial& trial) {
  std::vector<Figures> figures;
  for (const Trial& model : trial.models) figures.push_back(model.baseline.figures());
  return figures;
}

}  // namespace ridge::tune::share
