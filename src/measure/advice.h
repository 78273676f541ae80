// Advice, in one sentence, on how to make a measured model faster. Pure.
#pragma once

#include <string>

#include "cost/costs.h"
#include "measure/measurement.h"

namespace ridge::measure {

// `limits` may be null: then the limit is unknown and the sentence says so.
Advice advise(const Measurement& measurement, const cost::DeviceLimits* limits);

// "STFT takes 91 % of the run and multiplies nothing, …": an operator that decides the time, by the layers. Empty:
// there is none, the run is mostly the engine's overhead, or there are no layers.
std::string deciding_operator(const Measurement& measurement);

// Has "not-finite" instead where a run's outputs hold NaN or infinite `values` (non_finite_text()).
Advice not_finite(const std::string& values);

}  // namespace ridge::measure
