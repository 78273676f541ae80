// Member: one of several models that share a machine: what is asked of it, and the ways to run it as measured alone. And what
// a set of figures, one per member, is worth: the score that splits are compared by (docs/decisions/0007). Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tune/candidate.h"

namespace ridge::tune::share {

struct MemberGoal {
  std::optional<double> rows_per_s;  // the load that it must carry
  std::optional<double> p99_ms;      // with a load: of a request, its waiting included; without: of one run
};

// What a model does, alone or beside others.
struct ModelFigures {
  double rows_per_s = 0;
  double p50_ms = 0, p99_ms = 0;  // of one run
};

// One way to run it, alone on the machine.
struct LonePoint {
  Candidate candidate;
  int processors = 1;  // that it keeps busy
  ModelFigures figures;
  double memory_bytes = 0;
};

// That the candidate keeps busy.
int processors_of(const Candidate& candidate);

struct Member {
  std::string name;
  MemberGoal goal;
  LonePoint alone;                // the fastest of all, which may take the whole machine
  std::vector<LonePoint> points;  // that may be part of a split; never empty
};

// What one member's figures mean for its goal.
struct Fulfilment {
  double ratio = 1;           // of the goal: 1 or more = met, 0.5 = half of what is asked; infinite without a goal
  double utilisation = 0;     // of its instances by the load; 0 = no load given
  double request_p99_ms = 0;  // with a load: of a request, waiting included (derived, sizing/capacity); else 0
  std::string miss;           // why it is not met, in words; empty = it is
  bool met() const { return miss.empty(); }
};
// `candidate` tells instances and batch.
Fulfilment fulfilment_of(const MemberGoal& goal, const Candidate& candidate, const ModelFigures& figures);

// What the members do together. `value` is the figure to be maximised: with a load for every member, how many times all
// loads together are carried, that is, the least rows/s ÷ load; else, of the members without a load, the least share of
// what it does alone.
struct Score {
  bool met = true;       // all goals
  double closeness = 1;  // least ratio of a goal, at most 1
  double value = 0;
};
Score score_of(std::span<const Member> members, std::span<const Candidate> split,
               std::span<const ModelFigures> figures);
// The value alone, of rows/s: for single slices.
double value_of(std::span<const Member> members, std::span<const double> rows_per_s);
bool all_have_loads(std::span<const Member> members);
// "least share of its throughput alone", "times the loads".
const char* value_name(std::span<const Member> members);

struct SplitBudget {
  int processors = 1;
  double memory_bytes = 0;   // of the process; 0 = not known
  double process_bytes = 0;  // that it takes without any model
};

}  // namespace ridge::tune::share
