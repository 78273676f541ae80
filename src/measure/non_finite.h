// Values of outputs that are not numbers or infinite, in words.
#pragma once

#include <span>
#include <string>

#include "engine/engine.h"

namespace ridge::measure {

// "output 'y': 8 of 8 values are NaN"; "": all are finite. `specs` name the outputs.
std::string non_finite_text(std::span<const TensorSpec> specs, std::span<const engine::Output> outputs);

}  // namespace ridge::measure
