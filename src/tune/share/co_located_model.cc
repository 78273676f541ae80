#include "tune/share/co_located_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ridge::tune::share {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

}  // namespace

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
