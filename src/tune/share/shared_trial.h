// SharedTrial: the record of one interleaved measurement of several models at once, a split and the untuned models in turns.
// What the store keeps. It holds what every model did, not what that is worth, so that a run with other goals can use it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tune/share/member.h"
#include "tune/trial.h"

namespace ridge::tune::share {

// One slice of each side: rows/s of every model.
struct SharedPair {
  std::vector<double> split, untuned;
};

struct SharedTrial {
  std::vector<Trial>
      models;  // of each model by itself: its figures and its ratios to the untuned one, both beside the others
  std::vector<SharedPair> pairs;
  double memory_bytes = 0;  // by how much the process grew while the split was opened and ran
  double seconds = 0;
  std::string failure;  // not empty: the split cannot run
};

// ln(value of the split ÷ of the untuned models) per pair.
std::vector<double> gains_of(const SharedTrial& trial, std::span<const Member> members);

ModelFigures figures_of(const Side& side);
std::vector<ModelFigures> split_figures(const SharedTrial& trial);
std::vector<ModelFigures> untuned_figures(const SharedTrial& trial);

Json to_json(const SharedTrial& trial);
Result<SharedTrial> shared_trial_from_json(const Json& json);

}  // namespace ridge::tune::share
