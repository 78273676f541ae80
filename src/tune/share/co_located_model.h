// CoLocatedModel: one of several models that share a machine: its goals, and the ways to run it as measured alone. And
// the score of a set of figures, one per member, for comparing partitions (docs/decisions/0007). Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/figure.h"
#include "tune/candidate.h"
#include "tune/figures.h"
#include "tune/load_goal.h"
#include "tune/trial.h"

namespace ridge::tune::share {

using tune::Fulfilment;
using tune::fulfilment_of;
using tune::ModelGoal;

// One way to run it, alone on the machine.
struct SoloPoint {
  Candidate candidate;
  int cpus = 1;  // that it keeps busy
  Figures figures;
  double memory_bytes = 0;
};

// CPUs that the candidate keeps busy.
int cpus_of(const Candidate& candidate);

struct CoLocatedModel {
  std::string name;
  ModelGoal goal;
  SoloPoint alone;                // the fastest of all, which may take the whole machine
  std::vector<SoloPoint> points;  // that may be part of a partition; never empty
};

// The members' combined result. `value` is the figure to maximise: with a load for every member, the carried multiple
// of all loads: the least rows/s ÷ load; else, of the members without a load, the least share of its solo throughput.
struct Score {
  bool met = true;       // all goals
  double closeness = 1;  // least ratio of a goal, at most 1
  double value = 0;
};
void visit_fields(auto& visit, Is<Score> auto& score) {
  visit("met", score.met);
  visit("closeness", score.closeness, means("least ratio of a goal, at most 1"));
  visit("value", score.value);
}
Score score_of(std::span<const CoLocatedModel> members, std::span<const Candidate> partition,
               std::span<const Figures> figures);
// The value alone, of rows/s: for single slices.
double value_of(std::span<const CoLocatedModel> members, std::span<const double> rows_per_s);
bool all_have_loads(std::span<const CoLocatedModel> members);
// "least share of its throughput alone", "times the loads".
const char* value_name(std::span<const CoLocatedModel> members);

// ln(value of the candidates ÷ of the untuned models) per round.
std::vector<double> gains_of(const CoLocatedTrial& trial, std::span<const CoLocatedModel> members);
// Figures of every model.
std::vector<Figures> candidate_figures(const CoLocatedTrial& trial);
std::vector<Figures> untuned_figures(const CoLocatedTrial& trial);

struct ResourceBudget {
  int cpus = 1;
  double memory_bytes = 0;   // of the process; 0 = not known
  double process_bytes = 0;  // memory of the process without any model
};

}  // namespace ridge::tune::share
