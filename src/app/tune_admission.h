// The engines and precisions of a tuning, and the data and limits for judging their accuracy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/run_control.h"
#include "app/tune_request.h"
#include "base/result.h"
#include "cost/costs.h"
#include "engine/engine.h"
#include "machine/machine.h"
#include "model/graph.h"
#include "model/reader.h"
#include "plan/plan.h"
#include "precision/samples.h"
#include "tune/admission.h"
#include "tune/budget.h"

namespace ridge::app {

// A request's FP32 model, with its costs and plan at batch 1, inputs and outputs.
struct AdmissionSubject {
  const TuneRequest& request;
  model::WholeModel model;  // its values are freed with this
  const machine::Machine& machine;
  const tune::Target& target;
  const model::Graph& graph;
  const cost::Costs& costs;
  const plan::Plan& plan;
  const engine::Signature& signature;
  const tune::Budget& budget;
  std::optional<precision::Samples> samples = {};  // read before; absent: those that the request describes
};

// The samples of the request's files, so that faults show before anything is measured; absent: synthetic ones.
Result<std::optional<precision::Samples>> read_samples(const TuneRequest& request, const engine::Signature& signature,
                                                       const plan::Plan& plan, const model::Graph& graph);

// Everything that may enter the search; the first is the baseline. Files of other precisions are stored beside the
// tuning store. What an interruption or the end of its time leaves out is rejected with that reason. Errors: wrong
// names, unreadable samples, an FP32 model that fails on them.
Result<tune::VariantSelection> admit(AdmissionSubject subject, const RunControl& control);

}  // namespace ridge::app
