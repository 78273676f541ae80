// The model to tune, the goal and the limits of the search.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/about.h"
#include "model/reader.h"
#include "plan/device.h"
#include "precision/evaluation.h"
#include "precision/guard.h"
#include "precision/samples.h"
#include "tune/regression.h"
#include "tune/search.h"
#include "tune/share/co_located_model.h"
#include "tune/space.h"

namespace ridge::app {

struct TuneRequest {
  Command command;    // named in tuning.json
  std::string model;  // path
  model::Binding binding;
  plan::Device device;

  std::string engine;         // the untuned model's
  bool other_engines = true;  // also searches those that load here
  std::string engine_library;
  std::map<std::string, std::string> engine_options;

  tune::Goal goal;
  double seconds = 60;  // of all of it, but for measuring the machine's limits
  int trials = 0;       // limit; 0: as many as fit the time
  int64_t max_batch = 32;
  std::optional<int> threads;  // limit, in all
  tune::Strategy strategy = tune::Strategy::kQuick;
  bool layers = false;  // also measures the breakdown of a run's time

  std::optional<std::vector<std::string>> variants;  // absent: those that can pay
  precision::SampleOptions samples;
  precision::GuardLimits guard;
  std::optional<double> guard_seconds;  // absent: as long as `seconds`
  std::optional<precision::EvaluationOptions> evaluation;

  std::string store;   // file of measured trials; empty: the usual one
  bool fresh = false;  // ignores stored results

  std::optional<tune::Tuning> recorded;  // measures its candidate again instead of a search
  tune::Strictness strictness;           // of that comparison

  std::string name;        // of the repository's entry
  std::string repository;  // folder; empty: nothing is written
  bool overwrite = false;
};

struct ShareRequest {
  std::vector<TuneRequest> models;            // each as if tuned alone
  std::vector<tune::share::ModelGoal> goals;  // parallel to models
  std::optional<int64_t> memory_bytes;        // absent: what is available

  // Options of the whole run (device, time, threads, store, repository) are the same in all.
  const TuneRequest& common() const { return models.front(); }
};

// True if an input is given several rows.
bool gives_rows(const model::Binding& binding);

}  // namespace ridge::app
