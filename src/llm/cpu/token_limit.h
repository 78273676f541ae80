// The limit beside what `ridge bench URL` measures of a language-model server: of its first tokens, of its steps, and
// of its tokens per second.
#pragma once

#include "client/server_measurement.h"
#include "llm/cpu/decoder_limit.h"

namespace ridge::llm::cpu {

// Bounds a load whose counted requests had these tokens. `in_flight` are its callers or, for an open loop, their mean
// number. The mean request has p prompt and o output tokens. Empty: no request was answered.
//   TTFT   weights once, p tokens
//   TPOT   weights once, a token of each answer under way (output rate · (o − 1)/o · TPOT), behind p + o/2 − 1
//   rate   in flight / the mean step: weights once, in flight / o of a request's p + o − 1 tokens
// A step gives each answer one token: who guesses tokens ahead may be faster. Prompts with a common beginning, which a
// server may compute once, are not sent, but for what a chat's template puts there.
std::optional<client::TokenLimit> token_limit(const DecoderLimit& limit, const client::TokenFigures& tokens,
                                              double in_flight);

struct KnownLimit {
  DecoderLimit limit;
  client::TokenLimitOf of;
};
// Beside each point with tokens.
void set_beside_limit(const KnownLimit& known, client::ServerMeasurement& m);

}  // namespace ridge::llm::cpu
