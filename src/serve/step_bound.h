// The least time that the machine needs for a step of a language model: what its metrics and its answers set beside the
// time that was taken.
#pragma once

#include <functional>
#include <span>

#include "engine/decoder.h"

namespace ridge::serve {

// [s]; 0: not known. Called on the step thread.
using StepBound = std::function<double(std::span<const engine::StepSequence>)>;
// Takes a decoder that was opened; empty: not known.
using StepBoundFunction = std::function<StepBound(const engine::DecoderPlan&, const engine::DecoderInfo&)>;

}  // namespace ridge::serve
