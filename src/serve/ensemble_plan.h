// EnsemblePlan: the models that an ensemble runs, and the way of its tensors from step to step, checked. Pure.
//
// A tensor of an ensemble comes from the client or from one step, and goes to any number of steps and to the client. A
// step runs as soon as its tensors are there; so no tensor may depend on itself (Triton's guide, "Ensemble Models").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "serve/model_settings.h"

namespace ridge::serve {

// The maps as configured.
struct EnsembleStepMaps {
  using Map = std::vector<std::pair<std::string, std::string>>;  // the model's name of a tensor → the ensemble's
  std::string model;
  int64_t version = 0;  // 0 = the highest that serves
  Map inputs, outputs;
};

struct EnsembleTensor {
  std::string name;
  std::optional<size_t> from;  // the step that gives it; none: the client
  std::vector<size_t> to;      // the steps that take it, once per input
};

struct EnsembleStep {
  struct Use {
    std::string name;   // of the model's tensor
    size_t tensor = 0;  // into EnsemblePlan::tensors
  };
  std::string model;
  int64_t version = 0;
  std::vector<Use> inputs, outputs;
};

struct EnsemblePlan {
  std::vector<EnsembleTensor> tensors;  // the first are the inputs, as in ModelSettings::inputs
  std::vector<EnsembleStep> steps;
  std::vector<size_t> outputs;  // into tensors; as in ModelSettings::outputs
};

// "step 1 (model 'b')"
std::string step_text(const EnsemblePlan& plan, size_t step);

// kInvalid, with the name at fault: a tensor that is unknown, doubled, unused or circular; a missing map.
Result<EnsemblePlan> plan_ensemble(std::span<const std::string> inputs, std::span<const std::string> outputs,
                                   const std::vector<EnsembleStepMaps>& steps);

// Checks that the models, by step, have the tensors that the plan names, of types and shapes that agree with where they
// come from and go to: equal dims, or equal shapes with the batch dimension, where -1 is equal to all.
Status check_models(const ModelSettings& ensemble, const EnsemblePlan& plan,
                    std::span<const ModelSettings* const> models);

// The shape of a tensor for a model that has it as `tensor`. Between models that batch and others, a batch of one gains
// or loses its dimension where that makes it fit. `batched`: the first dimension of `shape` is the batch.
Shape shape_for(const ModelSettings& model, const TensorSettings& tensor, const Shape& shape, bool batched);

}  // namespace ridge::serve
