// Weights and biases of the nodes that run in integers: int8 and int32 initialisers, each with a DequantizeLinear
// behind it. An engine takes the integers and drops the DequantizeLinear; other ONNX runtimes compute real values.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "precision/affine.h"
#include "precision/sites.h"

namespace ridge::precision {

// Adds the initialisers and DequantizeLinear nodes, and connects them to the sites' nodes. `scales`: of each quantised
// activation. Gemm's alpha and beta become part of its weights and bias. Bias: scale = scale of the activation · scale
// of the weight's channel (Jacob et al., 2018, equation 11), so that it adds to the products directly. A channel whose
// bias would not fit in 32 bits gets a larger weight scale.
Status quantise_constants(PassModel& model, const Sites& sites, const std::map<std::string, Affine>& activations,
                          const QuantiseOptions& options);

// Adds "name = DequantizeLinear(quantised, scale[, zero point])". Returns the output's name.
std::string add_dequantise(PassModel& model, const std::string& tensor, const std::string& quantised,
                           const std::string& scale, const std::string& zero_point, int64_t axis);

}  // namespace ridge::precision
