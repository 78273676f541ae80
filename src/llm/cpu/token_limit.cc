#include "llm/cpu/token_limit.h"

#include <algorithm>
#include <utility>

namespace ridge::llm::cpu {
namespace {

// Little's law for an open loop: rate · time in the server.
double in_flight(const client::Point& point) {
  if (!point.rate_per_s) return point.concurrency;
  return std::max(1.0, point.requests_per_s * point.latency_ms.mean / 1e3);
}

}  // namespace

std::optional<client::TokenLimit> token_limit(const DecoderLimit& limit, const client::TokenFigures& tokens,
                                              double in_flight) {
  if (tokens.requests == 0 || tokens.output_tokens == 0) return std::nullopt;
  const auto requests = static_cast<double>(tokens.requests);
  const double prompt = static_cast<double>(tokens.prompt_tokens) / requests;
  const double output = static_cast<double>(tokens.output_tokens) / requests;
  const double later = std::max(output - 1, 0.0);  // that follow the prompt's step
  client::TokenLimit found;
  StepWork first = limit.weights(), later_one, step = limit.weights(), mean = limit.weights();
  limit.add(prompt, 0, 1, first);
  limit.add(1, prompt + std::max(output / 2 - 1, 0.0), 1, later_one);
  const cost::Bound prefill = limit.bound(first);
  found.ttft_ms = prefill.ms;
  found.prefill = prefill.limiter;

  if (tokens.tpot_ms) {
    const double decoding = tokens.output_per_s * later / output * tokens.tpot_ms->mean / 1e3;
    found.decoding = std::clamp(decoding, 1.0, in_flight);
    step.flops += found.decoding * later_one.flops;
    step.bytes += found.decoding * later_one.bytes;
    const cost::Bound decode = limit.bound(step);
    found.tpot_ms = decode.ms;
    found.decode = decode.limiter;
  }

  const double share = in_flight / output;  // of a request, in a mean step
  mean.flops += share * (first.flops + later * later_one.flops);
  mean.bytes += share * later * later_one.bytes;
  const cost::Bound load = limit.bound(mean);
  if (load.ms > 0) found.output_per_s = 1e3 * in_flight / load.ms;
  found.load = load.limiter;
  if (tokens.ttft_ms && tokens.ttft_ms->mean > 0) found.ttft_percent = 100 * found.ttft_ms / tokens.ttft_ms->mean;
  if (found.tpot_ms && tokens.tpot_ms->mean > 0) found.tpot_percent = 100 * *found.tpot_ms / tokens.tpot_ms->mean;
  return found;
}

void set_beside_limit(const KnownLimit& known, client::ServerMeasurement& m) {
  m.token_limit = known.of;
  double most = 0;
  for (client::Point& point : m.points) {
    if (!point.tokens) continue;
    const std::optional<client::TokenLimit> limit = token_limit(known.limit, *point.tokens, in_flight(point));
    point.tokens->limit = limit;
    if (!limit || limit->output_per_s <= 0) continue;
    point.percent_of_limit = 100 * point.tokens->output_per_s / limit->output_per_s;
    most = std::max({most, *point.percent_of_limit, limit->ttft_percent.value_or(0), limit->tpot_percent.value_or(0)});
  }
  if (most > 100)
    m.notes.push_back(
        "More than 100 % of the limit: the server computes elsewhere or with other weights (--device, --weights), it "
        "guessed tokens ahead or had prompts in a cache, or the stored limits of this machine are too low (ridge bench "
        "device --fresh).");
}

}  // namespace ridge::llm::cpu
