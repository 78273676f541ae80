// A decoder that follows its script, for tests of everything above it. docs/contracts.md, "The fake decoder".
//
// Its logits depend on all that a sequence's blocks show: which token was written where, at which position and after
// which others. A wrong, foreign or overwritten block therefore changes the next token, as it would change a model's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/decoder.h"

namespace ridge::engine::fake {

inline constexpr const char* kDecoderScript = "decoder.fake.json";  // in a folder, or beside a GGUF file

Result<std::unique_ptr<Decoder>> open_decoder(const DecoderPlan& plan, Clock& clock);

// A right cache's answer to `tokens`: one row of logits, and its peak. For tests.
std::vector<float> expected_logits(std::span<const int32_t> tokens, int64_t vocabulary);
int32_t expected_next(std::span<const int32_t> tokens, int64_t vocabulary);

}  // namespace ridge::engine::fake
