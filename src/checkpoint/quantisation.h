// The formats of a checkpoint's parts, from its quantization_config (config.json) or hf_quant_config.json. Pure.
#pragma once

#include "base/json.h"
#include "checkpoint/model.h"

namespace ridge::checkpoint {

// Sets the formats of `model`; false: no quantisation in `json`. Errors: an unknown method or number of bits.
Result<bool> read_quantisation(const Json& json, Model& model);

}  // namespace ridge::checkpoint
