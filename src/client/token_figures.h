// Figures of tokens under a load on a language-model server, from the records of its streams. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"
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

// The best on the device for a load as it was, with a token per answer and step: derived from FLOPs, weights and cache
// (llm/cpu/token_limit.h), for means.
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
  visit("output_tokens_per_s", limit.output_per_s,
        means("most output tokens/s, of steps that all requests in flight share").column("tokens/s limit"));
  visit("output_limiter", limit.load);
  visit("ttft_ms", limit.ttft_ms, means("least, of a prompt that has the device for itself").column("TTFT limit"));
  visit("ttft_percent_of_limit", limit.ttft_percent,
        means("100 · limit / mean; null: there is no such time").column("TTFT share"));
  visit("ttft_limiter", limit.prefill);
  visit("tpot_ms", limit.tpot_ms,
        means("least, of a step of the answers under way; null: no TPOT was measured").column("TPOT limit"));
  visit("tpot_percent_of_limit", limit.tpot_percent,
        means("100 · limit / mean; null: there is no such time").column("TPOT share"));
  visit("tpot_limiter", limit.decode);
  visit("decoding", limit.decoding, means("answers under way: rate of the tokens behind the first · mean TPOT"));
}

// Figures of the counted requests that succeeded. Distributions are absent if no request has such a time: an answer
// that is not streamed has no first token, one token has no gap.
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
  visit("requests", figures.requests, means("counted requests that succeeded"));
  visit("prompt_tokens", figures.prompt_tokens, means("by the server's `usage`"));
  visit("output_tokens", figures.output_tokens, means("by the server's `usage`"));
  visit("events", figures.events, means("of streams, with text: the client's own count"));
  visit.derived("counts_differ",
                Derived{counts_differ(figures), means("true: tokens and events differ by more than 1 %")});
  visit("output_tokens_per_s", figures.output_per_s,
        means("output tokens").column("tokens/s").in("tokens/s").csv().high_is_better());
  visit("prompt_tokens_per_s", figures.prompt_per_s, means("prompt tokens").csv().high_is_better());
  visit.derived(
      "total_tokens_per_s",
      Derived{figures.output_per_s + figures.prompt_per_s,
              means("prompt and output tokens").column("total tokens/s").in("tokens/s").csv().high_is_better()});
  visit("goodput_per_s", figures.goodput_per_s,
        means("requests within the goals; null: there is no goal")
            .column("goodput/s")
            .in("requests/s")
            .csv()
            .high_is_better());
  visit("ttft_ms", figures.ttft_ms,
        means("from the intended time to the first event with text")
            .part_columns("p50 p99", "TTFT")
            .csv("ttft")
            .low_is_better());
  visit("itl_ms", figures.itl_ms,
        means("between events with text, of all streams").part_columns("p50 p99", "ITL").csv("itl").low_is_better());
  visit("tpot_ms", figures.tpot_ms,
        means("of a request: first to last event with text / (tokens − 1)")
            .part_columns("p50 p99", "TPOT")
            .csv("tpot")
            .low_is_better());
  visit("late_ms", figures.late_ms,
        means("from the intended time to when the request was given to the system")
            .part_columns("p99", "sent late")
            .csv("late"));
  visit.unless_empty(
      "limit", figures.limit,
      means("with `--model`: for the point's mean numbers of tokens, and steps that give each answer one token")
          .groups_columns());
}

// `runs`: the counted requests, of which `records` has those that succeeded, and the warm-up's. `requests_per_s`: those
// that succeeded.
TokenFigures token_figures(std::span<const measure::TimedRun> runs, std::span<const TokenRecord> records,
                           double requests_per_s, const TokenGoals& goals);

}  // namespace ridge::client
