// A model configuration as the wire's JSON: snake_case names, enums by name, 64-bit integers as numbers (plain protobuf
// JSON makes them strings), scalars and lists also when default, sub-messages only when set.
#pragma once

#include "base/json.h"
#include "serve/config_text.h"

namespace ridge::serve {

Json config_to_json(const inference::ModelConfig& config);

}  // namespace ridge::serve
