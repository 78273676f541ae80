// The steps of tuning one model: read, planned, opened, measured untuned, and all variants judged. It is then searched
// alone (tune.h), or with co-located models (tune_share.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/run_control.h"
#include "app/tune_request.h"
#include "base/json.h"
#include "base/result.h"
#include "cost/costs.h"
#include "machine/energy_meter.h"
#include "machine/machine.h"
#include "model/graph.h"
#include "model/reader.h"
#include "plan/plan.h"
#include "tune/admission.h"
#include "tune/budget.h"
#include "tune/interleaved_benchmark.h"
#include "tune/row_check.h"
#include "tune/space.h"
#include "tune/store.h"
#include "tune/target.h"
#include "tune/tuning.h"

namespace ridge::app {

// Called as soon as these are known, long before the search ends; may be empty.
struct FirstFigures {
  // Called with the bound of one run at batch 1 and its threads; 0 = not known.
  std::function<void(const cost::Bound& bound, int threads)> bound;
  std::function<void(const measure::Measurement& untuned)> untuned;
};

// Steps fill in their parts, in this order. One thread.
struct TuneModel {
  TuneRequest request;
  const machine::Machine& machine;
  tune::Target target;
  model::UnboundModel unbound;
  std::unique_ptr<const model::Graph> graph;  // at batch 1, everything bound; the benchmark looks at it
  cost::Costs costs;                          // at batch 1
  tune::Budget budget;
  plan::Plan plan;  // shared by all candidates: model, engine, shapes at batch 1
  // open_untuned
  std::unique_ptr<tune::InterleavedBenchmark> benchmark = nullptr;
  engine::Signature signature = {};
  engine::Info info = {};  // of the untuned model's engine
  // measure_untuned
  tune::Batching batching = {};
  tune::Trial untuned = {};  // against itself: its figures, and the measurement noise
  // admit_variants
  tune::VariantSelection admission = {};
  std::vector<tune::PricedImplementation> implementations = {};
  // The last candidate that ran beside the untuned model, and its deviation.
  mutable std::optional<std::pair<tune::Candidate, precision::Deviation>> last_deviation = {};
};

// The machine with its limits, measured if there are none or fresh ones are requested. Without them where the device is
// another. `can_run` as of know_machine.
Result<machine::Machine> probe(const TuneRequest& request, const RunControl& control,
                               const std::function<Status()>& can_run);
// Checks that the engine opens the model, untuned, at batch 1.
Status can_open(const TuneRequest& request, const model::UnboundModel& model, const RunControl& control);
// The graph at `batch`, everything bound. A file that fixes its first dimension keeps it: its own batch is tuned.
Result<model::Graph> bind(const TuneRequest& request, const model::UnboundModel& unbound, int64_t batch);
// Everything up to the search: bind → count → plan → open → measure → admit. `energy` may be null. Frees the values of
// `whole` at the end: the search needs none. `budget` has begun.
Result<std::unique_ptr<TuneModel>> prepare(const TuneRequest& request, const machine::Machine& machine,
                                           model::WholeModel whole, const tune::Budget& budget,
                                           machine::EnergyMeter* energy, const RunControl& control,
                                           const FirstFigures& first = {});
// Opens the untuned model, also again after it was closed to free memory.
Status open_untuned(TuneModel& model, machine::EnergyMeter* energy, const RunControl& control);

Result<tune::StoreKey> store_key(const TuneModel& model);
tune::SpaceOptions space_options(const TuneModel& model);
std::vector<tune::Implementation> implementations_of(const tune::VariantSelection& admission);

// By the guard's verdict if engine or precision differs; else measured.
Result<precision::Deviation> deviation_of(const tune::Candidate& candidate, const TuneModel& model);
// The guard judged rows that ran alone. With ranges found at run time, the rows of a batch share them.
Result<bool> keeps_rows_apart(const tune::Candidate& candidate, const TuneModel& model);

// Writes the model's entry from `tuning`, with the members `tuning_json` beside it. Returns the version's folder.
Result<std::string> write_entry(const TuneModel& model, const tune::Tuning& tuning, int64_t verified_batch,
                                const Json& tuning_json);

}  // namespace ridge::app
