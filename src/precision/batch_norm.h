// Folds BatchNormalization into the convolution before it, so that one integer operator does both. Source: Jacob et
// al., Quantization and training of neural networks, 2018, equation 14, with the statistics of inference: W' = W ·
// γ/√(σ² + ε), b' = (b − μ) · γ/√(σ² + ε) + β, per output channel.
#pragma once

#include "base/result.h"
#include "precision/pass_model.h"

namespace ridge::precision {

// Requires a convolution output without other use and constant weights and statistics. The convolution takes over the
// normalisation's output name. Returns the number of folded nodes.
Result<int> fold_batch_norms(PassModel& model);

}  // namespace ridge::precision
