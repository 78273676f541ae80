// Figures of tokens under a load on a language-model server, from the records of its streams. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fields.h"
#include "client/token_stream.h"
#include "measure/load.h"
#include "measure/measurement.h"

namespace ridge::client {

// Tokens of a request: drawn evenly from low to high.
struct TokenRange {
  int64_t low = 0, high = 0;
};
void visit_fields(auto& visit, Is<TokenRange> auto& range) {
  visit("low", range.low);
  visit("high", range.high);
}

struct TokenGoals {
  std::optional<double> ttft_ms, tpot_ms;
};
void visit_fields(auto& visit, Is<TokenGoals> auto& goals) {
  visit("ttft_ms", goals.ttft_ms);
  visit("tpot_ms", goals.tpot_ms);
}

// The load on a language-model server.
struct TokenLoad {
  bool streaming = true;
  TokenRange prompt, output;  // [tokens] asked
  std::string trace;          // file that they are from; empty: drawn
  bool ignore_eos = true;     // sent: the answer goes on to its asked length
  TokenGoals goals;
};
void visit_fields(auto& visit, Is<TokenLoad> auto& load) {
  visit("streaming", load.streaming);
  visit("prompt_tokens", load.prompt);
  visit("output_tokens", load.output);
  visit("trace", load.trace);
  visit("ignore_eos", load.ignore_eos);
  visit("goals", load.goals);
}

// The best on the device for a load as it was, with a token per answer and step: derived from FLOPs, weights and cache (llm/cpu/token_limit.h), for means.
struct TokenLimit {
  double ttft_ms = 0;  // least, of a prompt that has the device for itself
  std::optional<double>
      tpot_ms;              // least, of a step that gives each answer under way a token; absent: no TPOT was measured
  double decoding = 0;      // such answers
  double output_per_s = 0;  // most [tokens/s], of steps that all requests in flight share
  std::optional<double> ttft_percent, tpot_percent;  // 100 · least / measured mean; absent: not measured
  cost::Limiter prefill = cost::Limiter::kUnknown, decode = cost::Limiter::kUnknown, load = cost::Limiter::kUnknown;
};
void visit_fields(auto& visit, Is<TokenLimit> auto& limit) {
  visit("ttft_ms", limit.ttft_ms);
  visit("ttft_percent_of_limit", limit.ttft_percent);
  visit("ttft_limiter", limit.prefill);
  visit("tpot_ms", limit.tpot_ms);
  visit("tpot_percent_of_limit", limit.tpot_percent);
  visit("tpot_limiter", limit.decode);
  visit("decoding", limit.decoding);
  visit("output_tokens_per_s", limit.output_per_s);
  visit("output_limiter", limit.load);
}

// Figures of the counted requests that succeeded. Distributions are absent if no request has such a time: an answer that is not
// streamed has no first token, one token has no gap.
struct TokenFigures {
  int64_t requests = 0;
  int64_t prompt_tokens = 0, output_tokens = 0;  // by the server's `usage`
  int64_t events = 0;                            // of streams, with text: the client's own count
  double output_per_s = 0, prompt_per_s = 0;     // [tokens/s]
  std::optional<measure::Latency> ttft_ms;       // first token; of an open loop from the intended time
  std::optional<measure::Latency> itl_ms;        // between events with text, of all streams
  std::optional<measure::Latency> tpot_ms;       // of a request: first to last event / (output tokens − 1)
  std::optional<double> goodput_per_s;           // requests within all goals; absent without a goal
  std::optional<measure::Latency> late_ms;       // from the intended time to when the request was given to the system
  std::optional<TokenLimit> limit;               // absent: the model or its device is not known
};
// The server counts tokens that came without an event of their own, or events that are no tokens, by more than 1 %.
inline bool counts_differ(const TokenFigures& figures) {
  const auto events = static_cast<double>(figures.events), tokens = static_cast<double>(figures.output_tokens);
  return events > 0 && (events > 1.01 * tokens || events < 0.99 * tokens);
}
void visit_fields(auto& visit, Is<TokenFigures> auto& figures) {
  visit("requests", figures.requests);
  visit("prompt_tokens", figures.prompt_tokens);
  visit("output_tokens", figures.output_tokens);
  visit("events", figures.events);
  visit.derived("counts_differ", counts_differ(figures));
  visit("output_tokens_per_s", figures.output_per_s);
  visit("prompt_tokens_per_s", figures.prompt_per_s);
  visit("ttft_ms", figures.ttft_ms);
  visit("itl_ms", figures.itl_ms);
  visit("tpot_ms", figures.tpot_ms);
  visit("goodput_per_s", figures.goodput_per_s);
  visit("late_ms", figures.late_ms);
  visit.unless_empty("limit", figures.limit);
}

// `runs`: the counted requests, of which `records` has those that succeeded, and the warm-up's. `requests_per_s`: those that succeeded.
TokenFigures token_figures(std::span<const measure::TimedRun> runs, std::span<const TokenRecord> records,
                           double requests_per_s, const TokenGoals& goals);

}  // namespace ridge::client
