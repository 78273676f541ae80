// One model on its way through `ridge tune`: read, opened, measured as it is, and with everything that may be tried judged.
// From there it is searched alone (cli/tune), or with others that share the machine (cli/tune_share). Not for rendering.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/tune_options.h"
#include "machine/energy_meter.h"
#include "machine/machine.h"
#include "model/graph.h"
#include "plan/plan.h"
#include "tune/admission.h"
#include "tune/interleaved_benchmark.h"
#include "tune/repository.h"
#include "tune/row_check.h"
#include "tune/serving_config.h"
#include "tune/space.h"
#include "tune/store.h"
#include "tune/target.h"
#include "tune/tuning.h"

namespace ridge::cli {

using Tell = std::function<void(const std::string& step, double share_done)>;

// Stays where it is: the benchmark looks at the graph.
struct TuneModel {
  TuneRequest request;
  const machine::Machine& machine;
  tune::Target target;
  model::Graph graph;  // at batch 1, everything bound
  plan::Plan plan;     // what all candidates share: model, engine, shapes at batch 1
  engine::Signature signature;
  engine::Info info;  // of the baseline's engine
  std::unique_ptr<tune::InterleavedBenchmark> benchmark;
  tune::Trial
      untuned;  // the untuned model against itself: its figures, and how far noise alone lets two measurements differ
  tune::Batching batching;
  tune::Admission admission;
  std::vector<tune::PricedImplementation> implementations;
};

// The machine with its limits; measured if --fresh or never measured. Without them where it is tuned for another device.
Result<machine::Machine> probe_for_tuning(const TuneOptions& options, const Tell& tell);

// read → plan → open → measure untuned → admit → price. `energy` may be null.
Result<std::unique_ptr<TuneModel>> prepare(const TuneRequest& request, const machine::Machine& machine,
                                           machine::EnergyMeter* energy, const Tell& tell);
// Opens the benchmark again after somebody closed it to give its memory back.
Status reopen(TuneModel& model);

Result<tune::StoreKey> store_key(const TuneModel& model);
tune::SpaceOptions limits_of(const TuneModel& model);
std::vector<tune::Implementation> implementations_of(const tune::Admission& admission);

// By the guard's verdict where the engine or the precision is another one; else measured.
Result<precision::Drift> drift_of(const tune::Candidate& candidate, const TuneModel& model);
// The guard judged rows that ran alone. Where ranges are found at run time, those of one batch share them.
Result<bool> keeps_rows_apart(const tune::Candidate& candidate, const TuneModel& model);

// Writes the model's entry as `tuning` has it, with `tuning_json` beside it. Returns the folder of the version.
Result<std::string> write_entry(const TuneModel& model, const tune::Tuning& tuning, int64_t verified_batch,
                                const std::string& tuning_json);

}  // namespace ridge::cli
