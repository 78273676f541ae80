// Checks a call of Decoder::step(), the same for every engine.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "engine/decoder.h"

namespace ridge::engine {

// `blocks`: reserved ones. kInvalid as decoder.h says; the message has the sequence's index.
Status check_step(const DecoderInfo& info, int64_t blocks, std::span<const StepSequence> sequences);

}  // namespace ridge::engine
