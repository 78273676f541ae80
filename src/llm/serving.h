// What one way of serving a model on GPUs gives: memory, time to the first token, time per output token, rate, cost and energy, with the error to
// expect; and the search over ways. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "llm/simulate.h"

namespace ridge::llm {

// 80 % of measured values lie within prediction · low and prediction · high.
struct ErrorRange {
  double low = 1, high = 1;
};
void visit_fields(auto& visit, Is<ErrorRange> auto& range) {
  visit("low", range.low);
  visit("high", range.high);
}
// From cross-validation on public runs (benchmarks/silicon.py): of a model that was not fitted, on a GPU with laws of its own or without.
ErrorRange ttft_range(EngineKind engine, bool own_laws);
ErrorRange tpot_range(EngineKind engine, bool own_laws);

struct Interval {
  double low = 0, high = 0;
};
void visit_fields(auto& visit, Is<Interval> auto& interval) {
  visit("low", interval.low);
  visit("high", interval.high);
}

// Of one GPU [bytes].
struct ServingMemory {
  double weights = 0;
  double cache_per_token = 0;  // of a sequence of the workload's length
  double cache = 0;            // room for it, as the engine takes it
  double cache_tokens = 0;     // of one attention replica
};
void visit_fields(auto& visit, Is<ServingMemory> auto& memory) {
  visit("weights", memory.weights);
  visit("cache_per_token", memory.cache_per_token);
  visit("cache", memory.cache);
  visit("cache_tokens", memory.cache_tokens);
}
// `tokens`: of a sequence.
ServingMemory memory_of(const Deployment& deployment, double tokens);

struct Goals {
  std::optional<double> ttft_ms, tpot_ms;  // at the percentile
  double percentile = 50;                  // 50 or 99
};

struct Prices {
  std::optional<double> usd_per_gpu_hour;
};

struct Serving {
  std::string gpu;
  EngineKind engine = EngineKind::kVllm;
  Parallel parallel;
  int64_t replicas = 1;
  int64_t gpus = 1;  // of all replicas
  int64_t concurrency = 0;
  double requests_per_s = 0;  // that arrive at all replicas, in an open load
  std::string weights;        // format of most of them
  ServingMemory memory;
  std::string why_not;    // not empty: does not fit, and the rest is empty
  Simulation simulation;  // of one attention replica
  double output_tokens_per_s = 0, tokens_per_s_per_gpu = 0, tokens_per_s_per_user = 0;
  ErrorRange ttft_error, tpot_error;
  ErrorRange rate_error;                   // of the output: 1 in an open load, which sends as it does
  bool meets = true;                       // the goals, at the slow end of the ranges
  std::optional<double> usd_per_million;   // output tokens
  std::optional<double> joules_per_token;  // at the GPUs' full power
  double bound_tpot_ms = 0;                // physical limit of the mean decode step
  std::vector<KernelRow> decode_step;      // of the mean batch
  std::vector<KernelRow> prompt_step;      // of one prompt alone
};

// What 80 % of measured values lie within: of the means, and of what follows from them.
struct ServingRanges {
  Interval ttft_ms, tpot_ms, output_tokens_per_s, tokens_per_s_per_gpu, tokens_per_s_per_user;
  std::optional<Interval> usd_per_million, joules_per_token;
};
void visit_fields(auto& visit, Is<ServingRanges> auto& r) {
  visit("ttft_ms", r.ttft_ms);
  visit("tpot_ms", r.tpot_ms);
  visit("output_tokens_per_s", r.output_tokens_per_s);
  visit("tokens_per_s_per_gpu", r.tokens_per_s_per_gpu);
  visit("tokens_per_s_per_user", r.tokens_per_s_per_user);
  visit("usd_per_million", r.usd_per_million);
  visit("joules_per_token", r.joules_per_token);
}
ServingRanges ranges_of(const Serving& serving);

void visit_fields(auto& visit, Is<Serving> auto& s) {
  visit("gpu", s.gpu);
  visit("engine", s.engine);
  visit("parallel", s.parallel);
  visit("replicas", s.replicas);
  visit("gpus", s.gpus);
  visit("concurrency", s.concurrency);
  visit("requests_per_s", s.requests_per_s);
  visit("weights", s.weights);
  visit("memory", s.memory);
  visit("fits", s.why_not.empty());
  visit.unless_empty("why_not", s.why_not);
  visit("ttft_ms", s.simulation.ttft_ms);
  visit("tpot_ms", s.simulation.tpot_ms);
  visit("ttft_error", s.ttft_error);
  visit("tpot_error", s.tpot_error);
  visit("meets", s.meets);
  visit("output_tokens_per_s", s.output_tokens_per_s);
  visit("tokens_per_s_per_gpu", s.tokens_per_s_per_gpu);
  visit("tokens_per_s_per_user", s.tokens_per_s_per_user);
  visit("usd_per_million", s.usd_per_million);
  visit("joules_per_token", s.joules_per_token);
  visit("bound_tpot_ms", s.bound_tpot_ms);
  visit.derived("ranges", ranges_of(s));
}

struct Load {
  Workload workload;  // the concurrency or rate of the whole service
  Goals goals;
  Prices prices;
  int64_t chunk_tokens = 0;      // 0: the engine's default
  int64_t receive_interval = 1;  // of SGLang [decode steps]
};

// Tokens per step of that engine: the load's or the engine's own.
int64_t chunk_of(const Load& load, EngineKind engine);

// One way: the deployment, `replicas` times. Errors: none of the workload; what does not fit is a value.
Result<Serving> serve(const Deployment& deployment, int64_t replicas, const Load& load);

// A GPU at hand for the search, and its rent.
struct Offer {
  Gpu gpu;
  Prices prices;
};
struct Space {
  std::vector<Offer> offers;
  std::vector<EngineKind> engines = {EngineKind::kVllm, EngineKind::kTensorRtLlm, EngineKind::kSglang};
  std::vector<Formats> formats;
  int64_t most_gpus = 8;
  std::optional<int64_t> tensor, data, pipeline, expert;  // given ones
};
// Every way in the space that fits, each at several concurrencies, or at the load's own if it has one; where it has a rate, as many replicas as carry
// it. Best first: those that meet the goals, by cost (by GPUs where a price is missing), then by rate.
std::vector<Serving> search(const Deployment& base, const Space& space, const Load& load);
// Those that no other beats in both tokens/s per GPU and tokens/s per user.
std::vector<Serving> front_of(const std::vector<Serving>& all);

// What would help most: the kernel that takes most of a decode step, and what halves it.
std::string advice(const Deployment& deployment, const Serving& serving);

}  // namespace ridge::llm
