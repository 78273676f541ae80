// Serving simulated step by step: the scheduler of an engine, the requests as a benchmark sends them, and the time of
// each step. Pure; deterministic by seed. Steps that only lengthen sequences are taken together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "llm/step.h"

namespace ridge::llm {

// Time from sending to the scheduler (assumed): a request misses the step that begins as it is sent.
inline constexpr double kFrontSeconds = 1e-3;
// Steps in which nothing changes but the length of the sequences, taken together.
inline constexpr int64_t kMostStepsAtOnce = 128;

struct Request {
  double sent_s = 0;  // open load only
  int64_t prompt = 0, output = 0;
};

// Closed: `concurrency` requests at all times, the first ones at once, the next one when one ends. Open: Poisson
// arrivals of `requests_per_s`, or those of `trace`.
struct Workload {
  int64_t prompt_min = 1024, prompt_max = 1024;  // [tokens], uniform
  int64_t output_min = 256, output_max = 256;
  int64_t concurrency = 0;
  double requests_per_s = 0;
  std::vector<Request> trace;
  int64_t requests = 0;        // 0: ten per sequence of the concurrency, 2000 where there is a rate
  double prefix_hit = 0;       // share of a prompt that is in the cache
  double tokens_per_step = 1;  // that a sequence gains in a decode step: above 1 in speculative decoding
  bool routed = false;         // by a front end before the engine's own, such as Dynamo's
  uint64_t seed = 1;
};

// Limits are of one attention replica.
struct Scheduler {
  EngineKind engine = EngineKind::kVllm;
  int64_t replicas =
      1;  // of attention, which step together: the fullest one is waited for, the experts compute the tokens of all
  int64_t chunk_tokens = 8192;    // per step
  int64_t most_sequences = 1024;  // at once
  int64_t receive_interval = 1;   // [decode steps], SGLang
  // TensorRT-LLM's batch_wait_timeout_iters and batch_wait_max_tokens_ratio: prompts wait beside decoding, for a
  // limited number of steps, until they and the decoding tokens fill the share of a step's tokens. With several
  // attention replicas its attention_dp_config: until each has a prompt.
  int64_t batch_wait_steps = 0;
  double batch_wait_share = 0;
  double cache_tokens = 0;  // that fit; 0: no limit
};

struct Summary {
  double mean = 0, p50 = 0, p99 = 0;
};
void visit_fields(auto& visit, Is<Summary> auto& summary) {
  visit("mean", summary.mean);
  visit("p50", summary.p50);
  visit("p99", summary.p99);
}

// Times of requests [ms].
struct Simulation {
  Summary ttft_ms;  // from sending to the first token
  Summary tpot_ms;  // (last token − first token) / (tokens − 1)
  double output_tokens_per_s = 0, requests_per_s = 0;
  int64_t requests = 0, preemptions = 0;
  double mean_decoding = 0;  // sequences of one attention replica, over time
  double mean_cached = 0;    // tokens per decoding sequence
};

// The requests that a workload sends, in order; `sent_s` is 0 in a closed load.
std::vector<Request> requests_of(const Workload& workload, EngineKind engine);
// Mean and percentiles; zeros for none.
Summary summary_of(std::vector<double> values);

// For requests that have ended by `end_s`: each has sent_s, first_s and last_s [s], of its first and last token, and
// its tokens, output. A client sees the first token `lag_steps` steps later, the last one at once.
template <typename Ended>
Simulation times_of(const std::vector<Ended>& requests, double end_s, double lag_steps = 0) {
  std::vector<double> ttft, tpot;
  double tokens = 0;
  for (const Ended& r : requests) {
    const double more = std::max(0.0, static_cast<double>(r.output - 1)), lag = std::min(lag_steps, more);
    const double each = more > 0 ? (r.last_s - r.first_s) / more : 0;
    if (more > 0) tpot.push_back(1e3 * each * (1 - lag / more));
    ttft.push_back(1e3 * (r.first_s - r.sent_s + lag * each));
    tokens += static_cast<double>(r.output);
  }
  Simulation s;
  s.ttft_ms = summary_of(std::move(ttft));
  s.tpot_ms = summary_of(std::move(tpot));
  s.requests = static_cast<int64_t>(requests.size());
  s.output_tokens_per_s = tokens / end_s;
  s.requests_per_s = static_cast<double>(s.requests) / end_s;
  return s;
}

// The server's front end: an engine's own tokenises one prompt after another, a router many at a time.
struct FrontEnd {
  double token_s = 0;  // per token
  bool parallel = false;
  double free_s = 0;
  // When a request that is sent at `sent_s` reaches the scheduler.
  double arrival(double sent_s, int64_t prompt) const;
};

// [s]
using StepSeconds = std::function<double(const Step&)>;

// Simulates all attention replicas of a stage. Errors: a request that can never fit into the cache.
Result<Simulation> simulate(const StepSeconds& seconds, const EngineCosts& costs, const Scheduler& scheduler,
                            const Workload& workload);

}  // namespace ridge::llm
