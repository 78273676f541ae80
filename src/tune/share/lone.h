// Lone: a model measured alone at every number of processors that a split may give it: one search each, of which a later one
// finds in the store what an earlier one measured. What splits are made of.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "machine/machine.h"
#include "model/graph.h"
#include "tune/contest.h"
#include "tune/share/member.h"
#include "tune/space.h"
#include "tune/store.h"
#include "tune/tuner.h"

namespace ridge::tune::share {

struct Lone {
  Search whole;                                      // with all processors
  Explored explored;                                 // of that search
  std::vector<std::pair<Standing, Trial>> measured;  // of all searches, each candidate once, with its longest trial
};

struct LoneSubject {
  const machine::Machine& machine;
  const model::Graph& graph;
  std::span<const PricedImplementation> implementations;
  SpaceOptions space;
  int trials = 0;  // of each search at most; 0 = no limit
};

// The numbers of processors at which models are measured alone: all, three quarters, and halves down to one; falling.
std::vector<int> processor_levels(int processors);

// `options.seconds`: half of it for all processors, the rest for the other numbers alike. Ends early when interrupted.
Result<Lone> explore_alone(const LoneSubject& subject, Contest& contest, Store& store, const TuneOptions& options);

// The model's part in a split. Points that miss the goal alone by more than noise are left out (counted in `skipped`), unless
// none would be left. What it does alone comes from those that meet a p99 goal, if any do. `lone` holds at least one.
Member member_of(const std::string& name, const MemberGoal& goal, const Lone& lone, std::vector<Skipped>& skipped);

}  // namespace ridge::tune::share
