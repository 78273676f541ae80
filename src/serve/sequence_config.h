// `sequence_batching` of a model configuration: what of it can be served, and its settings.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "serve/config_text.h"
#include "serve/model_settings.h"

namespace ridge::serve {

// Checks everything that is known before the model is opened.
Status check_sequence_batching(const inference::ModelConfig& config);

// The signature as clients have it: without inputs that the server sets, and without unlisted states.
engine::Signature without_sequence_tensors(const inference::ModelConfig& config, engine::Signature signature);

// How requests of different sequences share a batch.
BatchLimits sequence_batch_limits(const inference::ModelConfig& completed);

// Errors: a control or state that the model does not have, or has differently; an initial state that cannot be read.
// `outputs`: the configured ones; `directory`: the model's.
Result<SequenceSettings> sequence_settings_of(const inference::ModelConfig& completed,
                                              const engine::Signature& signature,
                                              const std::vector<TensorSettings>& outputs, const std::string& directory);

// A state whose shape may differ from sequence to sequence: such requests share no batch.
bool has_open_state(const SequenceSettings& settings);

}  // namespace ridge::serve
