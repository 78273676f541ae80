// Predicts one way of serving a model on GPUs: memory, time to the first token, time per output token, rate, cost and
// energy, with the error to expect. Pure; search.h looks for the best way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/figure.h"
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
// Range by cross-validation on public runs (benchmarks/silicon.py): for a model that was not fitted, on a GPU with laws
// of its own or without.
ErrorRange ttft_range(EngineKind engine, bool own_laws);
ErrorRange tpot_range(EngineKind engine, bool own_laws);

struct Interval {
  double low = 0, high = 0;
};
void visit_fields(auto& visit, Is<Interval> auto& interval) {
  visit("low", interval.low);
  visit("high", interval.high);
}

// Memory of one GPU [bytes].
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
  visit("cache_tokens", memory.cache_tokens, means("of a replica of attention"));
}
// An engine's share of the memory, its reserve beside weights and cache [bytes], and its default tokens per step.
struct EngineMemory {
  double share = 1, share_of_rest = 1, other_bytes = 0;
  int64_t chunk_tokens = 0;
};
EngineMemory memory_rule(EngineKind engine);
// `tokens`: of a sequence.
ServingMemory memory_of(const Deployment& deployment, double tokens);

struct Goals {
  std::optional<double> ttft_ms, tpot_ms;  // at the percentile
  double percentile = 50;                  // 50 or 99
};

struct Prices {
  std::optional<double> usd_per_gpu_hour;
};

// Where prompts are computed, when that is not where tokens are decoded.
struct PrefillPool {
  Parallel parallel;
  int64_t workers = 1;  // beside `replicas` decode workers
  ServingMemory memory;
  double busy = 0;         // share of the time that a worker computes
  double transfer_ms = 0;  // of a mean prompt's cache to a decode worker
};
void visit_fields(auto& visit, Is<PrefillPool> auto& pool) {
  visit("parallel", pool.parallel);
  visit("workers", pool.workers);
  visit("memory", pool.memory);
  visit("busy", pool.busy, means("share of the time"));
  visit("transfer_ms", pool.transfer_ms, means("of a mean prompt's cache"));
}

// With a prefill pool parallelism, replicas, memory and decode step are those of the decode workers.
struct Serving {
  std::string gpu;
  EngineKind engine = EngineKind::kVllm;
  Parallel parallel;
  int64_t replicas = 1;
  int64_t gpus = 1;  // of all replicas, and of the prefill workers
  std::optional<PrefillPool> prefill;
  int64_t concurrency = 0;
  double requests_per_s = 0;  // that arrive at all replicas, in an open load
  std::string weights;        // format of most of them
  ServingMemory memory;
  std::string why_not;       // not empty: does not fit, and the rest is empty
  Simulation simulation;     // of one attention replica; with a prefill pool of all workers of one replica of the pools
  double carried_per_s = 0;  // requests, of all replicas
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

// Ranges that hold 80 % of measured values: for the means, and for what follows from them.
struct ServingRanges {
  Interval ttft_ms, tpot_ms, output_tokens_per_s, tokens_per_s_per_gpu, tokens_per_s_per_user;
  std::optional<Interval> usd_per_million, joules_per_token;
};
void visit_fields(auto& visit, Is<ServingRanges> auto& r) {
  visit("ttft_ms", r.ttft_ms, Figure().range_of("/ttft_ms/mean").leaves(7));
  visit("tpot_ms", r.tpot_ms, Figure().range_of("/tpot_ms/mean").leaves(8));
  visit("output_tokens_per_s", r.output_tokens_per_s);
  visit("tokens_per_s_per_gpu", r.tokens_per_s_per_gpu,
        Figure().range_of("/tokens_per_s_per_gpu").in("tokens/s").leaves(3));
  visit("tokens_per_s_per_user", r.tokens_per_s_per_user,
        Figure().range_of("/tokens_per_s_per_user").in("tokens/s").leaves(2));
  visit("usd_per_million", r.usd_per_million, Figure().range_of("/usd_per_million").in("USD").leaves(1));
  visit("joules_per_token", r.joules_per_token);
}
ServingRanges ranges_of(const Serving& serving);

void visit_fields(auto& visit, Is<Serving> auto& s) {
  visit("gpu", s.gpu);
  visit("engine", s.engine, Figure().column("engine"));
  visit("parallel", s.parallel, means("of a replica; with prefill workers, as memory and step, of the decode workers"));
  visit("replicas", s.replicas);
  visit("gpus", s.gpus, means("of all replicas, and of the prefill workers"));
  visit("prefill", s.prefill, means("workers of prompts; null: every replica computes them itself"));
  visit("weights", s.weights, means("format of most").column("weights").leaves(4));
  visit("concurrency", s.concurrency,
        means("requests at once; 0: of a load by rate or trace").column("at once").leaves(5));
  visit("requests_per_s", s.requests_per_s, means("that arrive at all replicas"));
  visit("memory", s.memory, means("of one GPU").in("B"));
  visit("fits", s.why_not.empty());
  visit.unless_empty("why_not", s.why_not);
  visit("ttft_ms", s.simulation.ttft_ms,
        means("from sending to the first token").part_columns("mean", "first token, {}"));
  visit("tpot_ms", s.simulation.tpot_ms, means("of each further token").part_columns("mean", "each token, {}"));
  visit("ttft_error", s.ttft_error, means("80 % of measured values lie between the prediction times these"));
  visit("tpot_error", s.tpot_error, means("likewise"));
  visit("meets", s.meets, means("the goals, at the slow end of the ranges"));
  visit("output_tokens_per_s", s.output_tokens_per_s);
  visit("tokens_per_s_per_gpu", s.tokens_per_s_per_gpu, Figure().column("tokens/s per GPU").in("tokens/s"));
  visit("tokens_per_s_per_user", s.tokens_per_s_per_user,
        Figure().column("tokens/s per user").in("tokens/s").leaves(6));
  visit("usd_per_million", s.usd_per_million,
        means("output tokens; null: no price is known").column("per million").in("USD").leaves(9));
  visit("joules_per_token", s.joules_per_token, means("at the GPUs' full power; null: not known"));
  visit("bound_tpot_ms", s.bound_tpot_ms, means("of a decode step of the mean batch: each kernel at its limit"));
  visit.derived("ranges", Derived{ranges_of(s), means("80 % of measured values lie in them").groups_columns()});
}

struct Load {
  Workload workload;  // the concurrency or rate of the whole service
  Goals goals;
  Prices prices;
  int64_t chunk_tokens = 0;      // 0: the engine's default
  int64_t most_sequences = 0;    // at once, of one attention replica; 0: the engine's default, 1024
  int64_t receive_interval = 1;  // of SGLang [decode steps]
  // For TensorRT-LLM: simulate.h.
  int64_t batch_wait_steps = 0;
  double batch_wait_share = 0;
  double transfer_bytes_per_s =
      0;  // from prefill to decode workers, per GPU; 0: the GPU's link where it joins them, else a network
};

// Tokens per step of that engine: the load's or the engine's own.
int64_t chunk_of(const Load& load, EngineKind engine);

// One way: the deployment (step.h: with_engine), `replicas` times. Errors: none of the workload.
Result<Serving> serve(const Deployment& deployment, int64_t replicas, const Load& load);

// Prefill and decode workers of one kind of GPU and one engine: `prefill.workers` for each `decode_workers`.
struct Disaggregation {
  Parallel prefill, decode;
  int64_t prefill_workers = 1, decode_workers = 1;
  int64_t gpus() const { return prefill_workers * prefill.gpus() + decode_workers * decode.gpus(); }
};
// The pools, `replicas` times. `deployment`: its parallelism does not count.
Result<Serving> serve_disaggregated(const Deployment& deployment, const Disaggregation& pools, int64_t replicas,
                                    const Load& load);

// The most helpful change: the kernel that takes most of a decode step, and what halves it.
std::string advice(const Deployment& deployment, const Serving& serving);

}  // namespace ridge::llm
