// Which engines and precisions a tuning searches, and by which data and limits their accuracy is judged.
#pragma once

#include <string>
#include <vector>

#include "app/run_control.h"
#include "app/tune_request.h"
#include "base/result.h"
#include "cost/costs.h"
#include "engine/engine.h"
#include "machine/machine.h"
#include "model/graph.h"
#include "plan/plan.h"
#include "tune/admission.h"

namespace ridge::app {

// Of a request: FP32 model, its costs and plan at batch 1, and what takes and gives.
struct AdmissionSubject {
  const TuneRequest& request;
  const machine::Machine& machine;
  const tune::Target& target;
  const model::Graph& graph;
  const cost::Costs& costs;
  const plan::Plan& plan;
  const engine::Signature& signature;
};

// Everything that may enter the search; the first is the baseline. Files of other precisions lie beside the tuning store.
// Errors: wrong names, samples that cannot be read, an FP32 model that fails on them; kCancelled.
Result<tune::VariantSelection> admit(const AdmissionSubject& subject, const RunControl& control);

}  // namespace ridge::app
