#include "llm/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "llm/disaggregate.h"

namespace ridge::llm {
namespace {

constexpr double kGiga = 1e9;

// By engine: 80 % of measured/predicted, on a GPU with laws of its own (each model left out of the fit) and without
// (each GPU and its laws left out), and of disaggregated runs (few models: the wider one of these and of the first).
// Source: benchmarks/results/silicon.txt.
struct Ranges {
  ErrorRange own, other, disaggregated = {};
};
struct EngineRanges {
  Ranges ttft, tpot;
};
constexpr std::array<EngineRanges, 4> kRanges = {
    {{.ttft = {.own = {0.74, 1.37}, .other = {0.75, 1.38}, .disaggregated = {0.74, 1.72}},
      .tpot = {.own = {0.87, 1.13}, .other = {0.92, 1.15}, .disaggregated = {0.77, 1.13}}},
     {.ttft = {.own = {0.74, 2.07}, .other = {0.57, 1.79}, .disaggregated = {0.57, 2.07}},
      .tpot = {.own = {0.87, 1.16}, .other = {0.89, 1.31}, .disaggregated = {0.87, 1.36}}},
     {.ttft = {.own = {0.64, 2.23}, .other = {0.67, 2.35}, .disaggregated = {0.51, 2.35}},
      .tpot = {.own = {0.91, 1.28}, .other = {0.90, 1.36}, .disaggregated = {0.74, 1.28}}},
     // llama.cpp: eight of ten published figures of Llama-3-8B on seven GeForce cards; first tokens are assumed.
     {.ttft = {.own = {0.6, 1.6}, .other = {0.6, 1.6}}, .tpot = {.own = {0.90, 1.09}, .other = {0.90, 1.09}}}}};

double number_of(int64_t value) { return static_cast<double>(value); }

double share_of(int64_t heads, int64_t gpus) {
  return std::max(1.0, number_of(heads) / number_of(gpus)) / number_of(heads);
}

double mean_prompt(const Workload& w) { return 0.5 * number_of(w.prompt_min + w.prompt_max); }
double mean_output(const Workload& w) { return 0.5 * number_of(w.output_min + w.output_max); }

double at_percentile(const Summary& summary, double percentile) { return percentile > 90 ? summary.p99 : summary.p50; }

bool meets(const Serving& s, const Goals& g) {
  const auto slow = [&](const Summary& summary, const ErrorRange& range) {
    return at_percentile(summary, g.percentile) * range.high;
  };
  return (!g.ttft_ms || slow(s.simulation.ttft_ms, s.ttft_error) <= *g.ttft_ms) &&
         (!g.tpot_ms || slow(s.simulation.tpot_ms, s.tpot_error) <= *g.tpot_ms);
}

bool has_own_laws(const Gpu& gpu) {
  return std::any_of(gpu.laws.begin(), gpu.laws.end(), [](const auto& law) { return law.second.own; });
}

std::string_view most_weights(const Deployment& d) {
  const Parameters p = parameters_of(d.model);
  const WeightFormat most = p.experts > p.feed_forward ? d.formats.experts : d.formats.feed_forward;
  return name_of(names_of(most), most);
}

// `parts`: the number of those simulated that carry the load.
void set_rates(const Deployment& d, const Load& load, int64_t parts, Serving& s) {
  const Simulation& r = s.simulation;
  s.output_tokens_per_s = r.output_tokens_per_s * number_of(parts);
  s.carried_per_s = r.requests_per_s * number_of(parts);
  s.tokens_per_s_per_gpu = s.output_tokens_per_s / number_of(s.gpus);
  s.tokens_per_s_per_user = r.tpot_ms.mean > 0 ? 1e3 / r.tpot_ms.mean : 0;
  if (load.prices.usd_per_gpu_hour && s.output_tokens_per_s > 0)
    s.usd_per_million = *load.prices.usd_per_gpu_hour * number_of(s.gpus) / 3600 / s.output_tokens_per_s * 1e6;
  if (d.gpu.power_w > 0 && s.output_tokens_per_s > 0)
    s.joules_per_token = d.gpu.power_w * number_of(s.gpus) / s.output_tokens_per_s;
}

// Least time of a step: every kernel at its bound.
double bound_of(const std::vector<KernelRow>& rows) {
  double seconds = 0;
  for (const KernelRow& row : rows) seconds += row.time.bound_seconds;
  return seconds;
}

// A replica's part of the load.
Workload part_of(const Workload& whole, int64_t parts) {
  Workload w = whole;
  w.concurrency = whole.concurrency > 0 ? std::max<int64_t>(1, (whole.concurrency + parts - 1) / parts) : 0;
  w.requests_per_s = whole.requests_per_s / number_of(parts);
  if (!whole.trace.empty()) {
    w.trace.clear();
    for (size_t i = 0; i < whole.trace.size(); i += static_cast<size_t>(parts)) w.trace.push_back(whole.trace[i]);
  }
  return w;
}

// Requests of a closed load take as long as both times let them.
ErrorRange rate_range(const Serving& s, const Workload& w) {
  if (w.concurrency == 0) return {};
  const double more = std::max(0.0, mean_output(w) - 1), first = s.simulation.ttft_ms.mean,
               each = s.simulation.tpot_ms.mean;
  const auto request_ms = [&](double ttft, double tpot) { return first * ttft + each * tpot * more; };
  const double expected = request_ms(1, 1);
  if (expected <= 0) return {};
  return {expected / request_ms(s.ttft_error.high, s.tpot_error.high),
          expected / request_ms(s.ttft_error.low, s.tpot_error.low)};
}

}  // namespace

EngineMemory memory_rule(EngineKind engine) {
  switch (engine) {
    case EngineKind::kVllm:  // --gpu-memory-utilization, activations and graphs
      return {.share = 0.92, .other_bytes = 3 * kGiga, .chunk_tokens = 8192};
    case EngineKind::kTensorRtLlm:  // free_gpu_memory_fraction of what the weights leave
      return {.share_of_rest = 0.88, .other_bytes = 2 * kGiga, .chunk_tokens = 8192};
    case EngineKind::kSglang:  // --mem-fraction-static
      return {.share = 0.88, .other_bytes = 1 * kGiga, .chunk_tokens = 8192};
    case EngineKind::kLlamaCpp:  // --ubatch-size
      return {.other_bytes = 1 * kGiga, .chunk_tokens = 512};
  }
  return {};
}

int64_t chunk_of(const Load& load, EngineKind engine) {
  const int64_t chunk = load.chunk_tokens > 0 ? load.chunk_tokens : memory_rule(engine).chunk_tokens;
  // Whole prompts are computed beside the tokens that are decoded.
  return rules_of(engine).whole_prompts ? std::max(chunk, load.workload.prompt_max + 256) : chunk;
}

ServingRanges ranges_of(const Serving& s) {
  const auto times = [](double value, const ErrorRange& range) {
    return Interval{value * range.low, value * range.high};
  };
  const auto over = [](double value, const ErrorRange& range) {
    return Interval{value / range.high, value / range.low};
  };
  ServingRanges r;
  r.ttft_ms = times(s.simulation.ttft_ms.mean, s.ttft_error);
  r.tpot_ms = times(s.simulation.tpot_ms.mean, s.tpot_error);
  r.output_tokens_per_s = times(s.output_tokens_per_s, s.rate_error);
  r.tokens_per_s_per_gpu = times(s.tokens_per_s_per_gpu, s.rate_error);
  r.tokens_per_s_per_user = over(s.tokens_per_s_per_user, s.tpot_error);
  if (s.usd_per_million) r.usd_per_million = over(*s.usd_per_million, s.rate_error);
  if (s.joules_per_token) r.joules_per_token = over(*s.joules_per_token, s.rate_error);
  return r;
}

ErrorRange ttft_range(EngineKind engine, bool own_laws) {
  const Ranges& r = kRanges[static_cast<size_t>(engine)].ttft;
  return own_laws ? r.own : r.other;
}
ErrorRange tpot_range(EngineKind engine, bool own_laws) {
  const Ranges& r = kRanges[static_cast<size_t>(engine)].tpot;
  return own_laws ? r.own : r.other;
}

ServingMemory memory_of(const Deployment& d, double tokens) {
  const Parameters p = parameters_of(d.model);
  const auto bytes = [](double count, WeightFormat format) { return count * bits_of(format) / 8; };
  const double tensor = number_of(d.parallel.tensor), stage = tensor * number_of(d.parallel.data);
  const double tables =
      bytes(p.total - p.attention - p.feed_forward - p.experts, facts_of(d.formats.feed_forward).tables);
  ServingMemory m;
  m.weights =
      ((bytes(p.attention, d.formats.attention) + bytes(p.feed_forward, d.formats.feed_forward) + tables) / tensor +
       bytes(p.experts, d.formats.experts) / stage) /
      number_of(d.parallel.pipeline);
  double cache = 0;
  const auto add_cache = [&](const Attention& a, int64_t layers) {
    const double share = a.kind == AttentionKind::kLatent ? 1 : share_of(a.kv_heads, d.parallel.tensor);
    cache += number_of(layers) * cache_bytes(a, tokens, d.cache_bits) * share;
  };
  for (const Layers& group : d.model.layers) add_cache(group.attention, group.count);
  if (drafts(d)) {
    m.weights += bytes(p.draft, p.experts > 0 ? d.formats.experts : d.formats.feed_forward) / stage;
    add_cache(d.model.layers.back().attention, d.model.draft_layers);
  }
  m.cache_per_token = cache / tokens / number_of(d.parallel.pipeline);
  const EngineMemory rule = memory_rule(d.engine);
  m.cache = rule.share_of_rest * (rule.share * d.gpu.memory_bytes - m.weights - rule.other_bytes);
  m.cache_tokens = std::max(0.0, m.cache / m.cache_per_token);
  return m;
}

namespace {

// Fills in what is known before a run. The memory is that of `d`, which decodes.
Serving begin_serving(const Deployment& d, const Load& load) {
  const Workload& w = load.workload;
  Serving s;
  s.gpu = d.gpu.name;
  s.engine = d.engine;
  s.parallel = d.parallel;
  s.concurrency = w.concurrency;
  s.requests_per_s = w.requests_per_s;
  s.weights = most_weights(d);
  s.memory = memory_of(d, mean_prompt(w) + mean_output(w));
  s.ttft_error = ttft_range(d.engine, has_own_laws(d.gpu));
  s.tpot_error = tpot_range(d.engine, has_own_laws(d.gpu));
  return s;
}

// Empty if the weights and one request of `tokens` fit.
std::string misfit(const Gpu& gpu, const ServingMemory& memory, double tokens) {
  if (gpu.memory_bytes <= 0 || memory.cache_tokens >= tokens) return {};
  return fmt::format("{:.0f} GB of weights per GPU leave room for {:.0f} tokens of cache; one request has {:.0f}",
                     memory.weights / kGiga, memory.cache_tokens, tokens);
}

// Adds the simulated run: `d` decodes, `prompts` computes prompts.
void finish_serving(const Deployment& prompts, const Deployment& d, const Load& load, int64_t parts, Serving& s) {
  s.rate_error = rate_range(s, load.workload);
  set_rates(d, load, parts, s);
  s.meets = meets(s, load.goals);
  const double batch = std::max(1.0, s.simulation.mean_decoding);
  s.decode_step = kernels_of(d, {.sequences = batch, .cached = batch * s.simulation.mean_cached});
  s.prompt_step =
      kernels_of(prompts, {.chunks = {{.tokens = mean_prompt(load.workload)}}, .prompts_done = 1, .sustained = 0});
  s.bound_tpot_ms = 1e3 * bound_of(s.decode_step) / load.workload.tokens_per_step;
}

// The scheduler of one stage of a pipeline.
Scheduler scheduler_of(const Deployment& d, const Load& load, const ServingMemory& memory) {
  Scheduler s{.engine = d.engine,
              .replicas = d.parallel.data,
              .chunk_tokens = chunk_of(load, d.engine),
              .receive_interval = load.receive_interval,
              .batch_wait_steps = load.batch_wait_steps,
              .batch_wait_share = load.batch_wait_share};
  if (load.most_sequences > 0) s.most_sequences = load.most_sequences;
  if (d.gpu.memory_bytes > 0) s.cache_tokens = memory.cache_tokens / number_of(d.parallel.pipeline);
  return s;
}

}  // namespace

Result<Serving> serve(const Deployment& d, int64_t replicas, const Load& load) {
  const Workload& w = load.workload;
  Serving s = begin_serving(d, load);
  s.replicas = replicas;
  s.gpus = replicas * d.parallel.gpus();
  s.why_not = misfit(d.gpu, s.memory, number_of(w.prompt_max + w.output_max));
  if (!s.why_not.empty()) {
    s.meets = false;
    return s;
  }
  // Stages of a pipeline work on as many batches, each of a part of the sequences.
  const int64_t parts = replicas * d.parallel.pipeline;
  const Workload part = part_of(w, parts);
  const Scheduler scheduler = scheduler_of(d, load, s.memory);
  const int64_t most_decoding = std::max<int64_t>(part.concurrency / d.parallel.data + 1, 256);
  const StepTable steps(d, scheduler.chunk_tokens + most_decoding * (1 + d.draft_tokens));
  const auto seconds = [&](const Step& step) { return steps.seconds(step); };
  RIDGE_ASSIGN(s.simulation, simulate(seconds, d.costs, scheduler, part));
  finish_serving(d, d, load, parts, s);
  return s;
}

Result<Serving> serve_disaggregated(const Deployment& given, const Disaggregation& pools, int64_t replicas,
                                    const Load& load) {
  Deployment prompts = given;
  prompts.draft_tokens = 0;
  prompts.parallel = pools.prefill;
  Deployment d = given;
  d.parallel = pools.decode;
  const Workload& w = load.workload;
  Serving s = begin_serving(d, load);
  const EngineRanges& ranges = kRanges[static_cast<size_t>(d.engine)];
  s.ttft_error = ranges.ttft.disaggregated;
  s.tpot_error = ranges.tpot.disaggregated;
  s.replicas = replicas * pools.decode_workers;
  s.gpus = replicas * pools.gpus();
  s.prefill = PrefillPool{.parallel = pools.prefill,
                          .workers = replicas * pools.prefill_workers,
                          .memory = memory_of(prompts, mean_prompt(w))};
  s.why_not = misfit(d.gpu, s.memory, number_of(w.prompt_max + w.output_max));
  if (s.why_not.empty()) s.why_not = misfit(d.gpu, s.prefill->memory, number_of(w.prompt_max));
  if (!s.why_not.empty()) {
    s.meets = false;
    return s;
  }
  const double link = load.transfer_bytes_per_s > 0                ? load.transfer_bytes_per_s
                      : number_of(pools.gpus()) <= d.gpu.link_gpus ? d.gpu.link_bytes_per_s
                                                                   : kNetworkBytesPerSecond;
  const double transfer_s = s.prefill->memory.cache_per_token / link;
  const Workload part = part_of(w, replicas);
  const Scheduler scheduler = scheduler_of(d, load, s.memory);
  const Pool prefill{
      .workers = pools.prefill_workers, .replicas = pools.prefill.data, .chunk_tokens = scheduler.chunk_tokens};
  const Pool decode{.workers = pools.decode_workers,
                    .replicas = pools.decode.data,
                    .most_sequences = scheduler.most_sequences,
                    .cache_tokens = scheduler.cache_tokens};
  const StepTable prefill_steps(prompts, 2 * prefill.chunk_tokens);
  const StepTable decode_steps(d, std::max<int64_t>(part.concurrency, 256) * (1 + d.draft_tokens));
  RIDGE_ASSIGN(const DisaggregatedSimulation run, simulate_disaggregated(prefill_steps, prefill, decode_steps, decode,
                                                                         transfer_s, d.engine, d.costs, part));
  s.simulation = run.all;
  s.prefill->busy = run.prefill_busy;
  s.prefill->transfer_ms = 1e3 * transfer_s * mean_prompt(w);
  finish_serving(prompts, d, load, replicas, s);
  return s;
}

std::string advice(const Deployment& d, const Serving& s) {
  if (s.decode_step.empty()) return {};
  constexpr double kBusy = 0.9;
  if (s.prefill && s.prefill->busy > kBusy)
    return fmt::format("prefill workers compute prompts {:.0f} % of the time: more of them, or fewer decode workers",
                       100 * s.prefill->busy);
  const auto longest =
      std::max_element(s.decode_step.begin(), s.decode_step.end(),
                       [](const KernelRow& a, const KernelRow& b) { return a.time.seconds < b.time.seconds; });
  double all = 0;
  for (const KernelRow& row : s.decode_step) all += row.time.seconds;
  const double percent = 100 * longest->time.seconds / all;
  const std::string what = fmt::format("{} takes {:.0f} % of a decode step", longest->name, percent);
  if (longest->name == "engine")
    return what + ": more sequences per step, or fewer GPUs per replica, share the engine's own costs";
  if (longest->name == "all-reduce") return what + ": fewer GPUs per replica, or a faster link between them";
  if (longest->name == "attention, decode")
    return what + (d.cache_bits > 8 ? ": a cache in FP8 halves what it reads" : ": shorter contexts, or more GPUs");
  if (longest->time.compute_bound) return what + ", limited by arithmetic: a format with fewer bits multiplies faster";
  // Another format of the weights, by the same machinery.
  Deployment other = d;
  const WeightFormat now = longest->name == "experts"        ? d.formats.experts
                           : longest->name == "feed-forward" ? d.formats.feed_forward
                                                             : d.formats.attention;
  const WeightFormat narrower = bits_of(now) > 9 ? WeightFormat::kFp8 : WeightFormat::kNvfp4;
  if (bits_of(now) < 5) return what + ", limited by memory bandwidth: more GPUs, or more sequences per step";
  other.formats = {.attention = narrower, .feed_forward = narrower, .experts = narrower};
  const double batch = std::max(1.0, s.simulation.mean_decoding);
  double then = 0;
  for (const KernelRow& row : kernels_of(other, {.sequences = batch, .cached = batch * s.simulation.mean_cached}))
    then += row.time.seconds;
  constexpr double kWorthIt = 1.1;
  if (all / then < kWorthIt) return what + ", limited by memory bandwidth: more GPUs, or more sequences per step";
  return fmt::format("{}, limited by memory bandwidth: weights as {} make it {:.1f} x as fast", what,
                     name_of(names_of(narrower), narrower), all / then);
}

}  // namespace ridge::llm
