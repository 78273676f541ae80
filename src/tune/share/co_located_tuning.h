// CoLocatedTuning: the result of `ridge tune A B --share`: every model beside the others, as untuned and as tuned, with
// its solo result, goal and limit. The JSON contract of a shared tuning (docs/contracts.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/figure.h"
#include "base/json.h"
#include "tune/share/co_located_tuner.h"
#include "tune/share/proof.h"
#include "tune/tuning.h"

namespace ridge::tune::share {

struct TunedModel {
  CoLocatedModel member;
  Tuning tuning;          // baseline and best are both of the shared trial; the rest is of the model alone
  Fulfilment fulfilment;  // of `tuning.best`
  std::optional<AtLoad> at_load =
      {};  // measured at the end, every model at its load; absent without one, or interrupted
  double share() const { return tuning.best.throughput_per_s / member.alone.figures.rows_per_s; }
};

struct MemoryUse {
  double budget_bytes = 0;
  std::string budget_source;   // "--memory", "available"
  double predicted_bytes = 0;  // of the process with the partition's models
  std::optional<double> measured_bytes;
};
void visit_fields(auto& visit, Is<MemoryUse> auto& memory) {
  visit.or_null("budget", memory.budget_bytes);
  visit("budget_source", memory.budget_source);
  visit("predicted", memory.predicted_bytes);
  visit("measured", memory.measured_bytes,
        means("resident memory of the process with only the partition's models open; null: interrupted"));
}

struct CoLocatedTuning {
  machine::Machine machine;
  std::vector<TunedModel> models;
  Choice choice = Choice::kBaseline;
  Score untuned, best;
  Gain gain;                 // of the value, best over untuned
  double noise_percent = 0;  // half-width of the interval of the untuned models against themselves
  int cpus = 1;              // the budget
  bool in_turns = false;     // each may use all of them
  MemoryUse memory;
  std::vector<PartitionStanding> partitions;  // all that were measured
  size_t candidates = 0;
  int trials = 0, reused = 0;  // of partitions
  std::vector<SkipCount> skipped;
  std::string refuted;  // of kNone: the objection of the proof at the loads, or of the memory; empty = none
  bool interrupted = false;
  std::vector<std::string> not_done;                // for lack of time, one sentence each
  std::optional<machine::Disturbance> disturbance;  // of the whole run; absent: not watched
  double seconds = 0;
  std::string repository;  // empty = nothing written

  std::vector<CoLocatedModel> members() const;
};

// All but machine, models, memory, seconds and repository.
CoLocatedTuning summarise_co_located(const PartitionSearch& search, const CoLocatedExploration& explored,
                                     const CoLocatedDecision& decision, const CoLocatedTrial& untuned,
                                     const ResourceBudget& budget);

// One plain sentence: what changed, the gain, the current limit; or why the goals cannot be met.
std::string conclusion(const CoLocatedTuning& sharing);

Json to_json(const CoLocatedTuning& sharing);
void write_schema(Json& schema, const CoLocatedTuning& sharing);
// Reads the parts that the text of a result shows. Error: also without models, or with a split of other models.
Status read_json(const Json& json, CoLocatedTuning& sharing);
// One model's tuning.json about the others: member `shared`.
Json shared_json(const CoLocatedTuning& sharing, size_t model);

}  // namespace ridge::tune::share
