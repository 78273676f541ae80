// The load for which a language model is tuned, and its result, by the scheduler over a decoder. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/figure.h"
#include "base/result.h"
#include "engine/decoder.h"
#include "generate/scheduler.h"
#include "llm/simulate.h"

namespace ridge::llm::cpu {

struct Goals {
  std::optional<double> ttft_ms, tpot_ms;  // of a request: time to the first token, time per output token
  bool any() const { return ttft_ms || tpot_ms; }
};
void visit_fields(auto& visit, Is<Goals> auto& goals) {
  visit("ttft_ms", goals.ttft_ms);
  visit("tpot_ms", goals.tpot_ms);
}

// Closed: `concurrency` requests at all times. Open (0): each at its time.
struct Load {
  std::vector<llm::Request> requests;
  int64_t concurrency = 0;
  std::span<const int32_t> text = {};  // prompts are cut from it, each at another place; at least one token
  double common_share = 0;             // of a prompt, with which all begin
  Nanoseconds front{};  // from sending a request until it waits: it misses the step that begins as an answer ends
};
int64_t longest(const Load& load);  // [tokens] of a prompt and its answer

// [s] from the beginning.
struct Answered {
  double sent_s = 0, first_s = 0, last_s = 0;
  int64_t output = 0;
};

struct Served {
  std::vector<Answered> answered;
  double seconds = 0;
  uint64_t preemptions = 0, drafted_tokens = 0, accepted_tokens = 0;
};

// All requests, greedily, each to its asked length. `ran` (may be empty) sees each step and its time. Errors: the
// decoder's, and a request that does not fit; kCancelled: `interrupted` (may be empty).
Result<Served> serve(engine::Decoder& decoder, const generate::Settings& settings, const Load& load, Clock& clock,
                     const std::function<bool()>& interrupted = {},
                     const std::function<void(const generate::Step&, Nanoseconds)>& ran = {});

struct Figures {
  double output_tokens_per_s = 0;
  double requests_per_s = 0;
  std::optional<double> goodput_per_s = {};  // requests within all goals; absent without a goal
  llm::Summary ttft_ms, tpot_ms;
};
void visit_fields(auto& visit, Is<Figures> auto& figures) {
  visit("output_tokens_per_s", figures.output_tokens_per_s, Figure().column("tokens/s").in("tokens/s"));
  visit("requests_per_s", figures.requests_per_s);
  visit("goodput_per_s", figures.goodput_per_s, Figure().column("requests/s within the goals").in("requests/s"));
  visit("ttft_ms", figures.ttft_ms, Figure().part_columns("p50 p99", "first token {}"));
  visit("tpot_ms", figures.tpot_ms, Figure().part_columns("p50 p99", "per token {}").leaves(3));
}
// Figures of all of them together.
Figures figures_of(std::span<const Served> served, const Goals& goals);
// The maximised figure: requests within the goals or, without goals, output tokens, per second.
double score_of(const Figures& figures);

// The same load on the step line: takes no time. Drafts are not predicted: they depend on the texts.
Result<Served> predict(generate::Settings settings, const Load& load);

}  // namespace ridge::llm::cpu
