// Completes a model configuration from the model itself, and refuses what ridge cannot serve or the model does not
// have.
#pragma once

#include "engine/engine.h"
#include "serve/config_text.h"

namespace ridge::serve {

// Checks everything that is known before the model is opened: the name equals the directory's, the backend is one we
// have, nothing is asked for that is not supported (decoupled models, ragged batches, …), numbers are in range.
Status check_config(const inference::ModelConfig& config, const std::string& directory_name);

// Adds name, platform and backend, version policy, instance group, model file name and, where they are absent, inputs,
// outputs and batching, taken from the model. A model is given max_batch_size 4 and dynamic_batching if the
// configuration has no inputs or no outputs and no max_batch_size, and every input and output of the model has an open
// first dimension (Triton's rule), unless `may_batch` is false. kInvalid: a tensor that the model lacks, of another
// type, or of a shape that does not fit.
Result<ConfigPtr> complete_config(const inference::ModelConfig& config, const std::string& directory_name,
                                  const engine::Signature& signature, bool may_batch = true);

// A completed configuration, served without joining requests: the batch is an open first dimension of its tensors, so
// that clients send and get what they did. Of a model with sequences: one at a time in each instance.
ConfigPtr without_batching(const inference::ModelConfig& completed);

}  // namespace ridge::serve
