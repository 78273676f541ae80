// Measures steps of a decoder that has just been opened, which warms it up, for the line that predicts them
// (generate/step_line.h).
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/decoder.h"
#include "generate/step_line.h"

namespace ridge::serve {

// Steps of rising numbers of tokens, of one sequence and of several, until about `budget` is spent; at least four.
// `blocks` are reserved. kCancelled: `stop`.
Result<std::vector<generate::StepPoint>> measure_steps(engine::Decoder& decoder, int64_t blocks, Nanoseconds budget,
                                                       Clock& clock, const std::stop_token& stop = {});

}  // namespace ridge::serve
