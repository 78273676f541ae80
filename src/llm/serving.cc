#include "llm/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ridge::llm {
namespace {

constexpr double kGiga = 1e9;
constexpr int64_t kMostReplicas = 256, kMostConcurrency = 512;  // that the search tries

// By engine: 80 % of measured/predicted, on a GPU with laws of its own (each model left out of the fit) and without (each GPU and its laws left out).
// Source: benchmarks/results/silicon.txt.
struct Ranges {
  ErrorRange ttft_own, ttft_other, tpot_own, tpot_other;
};
constexpr std::array<Ranges, 3> kRanges = {{
    {{0.76, 1.62}, {0.75, 1.70}, {0.83, 1.23}, {0.82, 1.23}},
    {{0.56, 2.20}, {0.53, 2.22}, {0.88, 1.22}, {0.85, 1.22}},
    {{0.63, 2.16}, {0.63, 2.25}, {0.86, 1.28}, {0.86, 1.49}},
}};

// Of an engine: share of the memory that it takes, what stays free of it beside weights and cache, tokens per step unless told otherwise.
struct EngineMemory {
  double share, share_of_rest, other_bytes;
  int64_t chunk_tokens;
};
EngineMemory memory_rule(EngineKind engine) {
  switch (engine) {
    case EngineKind::kVllm: return {0.92, 1, 3 * kGiga, 8192};  // --gpu-memory-utilization, activations and graphs
    case EngineKind::kTensorRtLlm:
      return {1, 0.88, 2 * kGiga, 8192};                          // free_gpu_memory_fraction of what the weights leave
    case EngineKind::kSglang: return {0.88, 1, 1 * kGiga, 8192};  // --mem-fraction-static
  }
  return {};
}

double number_of(int64_t value) { return static_cast<double>(value); }

double share_of(int64_t heads, int64_t gpus) {
  return std::max(1.0, number_of(heads) / number_of(gpus)) / number_of(heads);
}

double mean_prompt(const Workload& w) { return 0.5 * number_of(w.prompt_min + w.prompt_max); }
double mean_output(const Workload& w) { return 0.5 * number_of(w.output_min + w.output_max); }

double at_percentile(const Spread& spread, double percentile) { return percentile > 90 ? spread.p99 : spread.p50; }

bool meets(const Serving& s, const Goals& g) {
  const auto slow = [&](const Spread& spread, const ErrorRange& range) {
    return at_percentile(spread, g.percentile) * range.high;
  };
  return (!g.ttft_ms || slow(s.simulation.ttft_ms, s.ttft_error) <= *g.ttft_ms) &&
         (!g.tpot_ms || slow(s.simulation.tpot_ms, s.tpot_error) <= *g.tpot_ms);
}

bool has_own_laws(const Gpu& gpu) {
  return std::any_of(gpu.laws.begin(), gpu.laws.end(), [](const auto& law) { return law.second.own; });
}

std::string_view most_weights(const Deployment& d) {
  const Parameters p = parameters_of(d.model);
  const Format most = p.experts > p.feed_forward ? d.formats.experts : d.formats.feed_forward;
  return facts_of(most).name;
}

void set_rates(const Deployment& d, const Load& load, Serving& s) {
  const Simulation& r = s.simulation;
  s.output_tokens_per_s = r.output_tokens_per_s * number_of(d.parallel.data * s.replicas);
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

std::vector<Parallel> ways_to_split(const Space& space, const Model& model, int64_t gpus) {
  std::vector<Parallel> ways;
  bool has_experts = false, latent = false;
  int64_t heads = 1;
  for (const Layers& group : model.layers) {
    has_experts |= group.feed_forward.experts > 0;
    latent |= group.attention.kind == AttentionKind::kLatent;
    heads = std::max(heads, group.attention.heads);
  }
  for (int64_t pipeline : {1, 2, 4}) {
    if (gpus % pipeline != 0 || space.pipeline.value_or(1) != pipeline) continue;
    const int64_t stage = gpus / pipeline;
    for (int64_t data = 1; data <= stage; data *= 2) {
      const int64_t tensor = stage / data;
      // Attention is replicated where a latent cache would otherwise be copied to every GPU, or where it is asked for.
      if (stage % data != 0 || heads % tensor != 0 || (data > 1 && !space.data && !(latent && has_experts))) continue;
      if (space.data.value_or(data) != data || space.tensor.value_or(tensor) != tensor) continue;
      for (int64_t expert : {int64_t{1}, stage}) {
        if (expert > 1 && !has_experts) continue;
        if (space.expert.value_or(expert) != expert || (data > 1 && has_experts && expert == 1 && stage > 1)) continue;
        ways.push_back({tensor, data, pipeline, has_experts ? stage / expert : 1, has_experts ? expert : 1});
        if (stage == 1) break;
      }
    }
  }
  return ways;
}

// The least number of replicas that carry the load's rate within its goals, or the most that were tried; none: the model does not fit.
std::optional<Serving> fewest_replicas(const Deployment& d, const Load& load) {
  const auto at = [&](int64_t replicas) -> std::optional<Serving> {
    Result<Serving> s = serve(d, replicas, load);
    if (!s || !s->why_not.empty()) return {};
    // A queue that grows without end is not carried, whatever the requests of a simulation saw of it.
    const double carried = s->simulation.requests_per_s * number_of(d.parallel.data * d.parallel.pipeline * replicas);
    s->meets = s->meets && carried > 0.9 * load.workload.requests_per_s;
    return *std::move(s);
  };
  int64_t above = 1;
  std::optional<Serving> best = at(above);
  while (best && !best->meets && above < kMostReplicas) best = at(above *= 2);
  if (!best || !best->meets) return best;
  for (int64_t below = above / 2; above - below > 1;) {
    const int64_t middle = (above + below) / 2;
    std::optional<Serving> s = at(middle);
    if (s && s->meets) {
      best = std::move(s);
      above = middle;
    } else {
      below = middle;
    }
  }
  return best;
}

// TensorRT-LLM's attention is divided among all GPUs or replicated on each (tensorrt_llm/mapping.py: dp_size).
bool runs(EngineKind engine, const Parallel& p) {
  return engine != EngineKind::kTensorRtLlm || p.tensor == 1 || p.data == 1;
}

bool better(const Serving& a, const Serving& b) {
  if (a.meets != b.meets) return a.meets;
  if (a.requests_per_s > 0 && a.usd_per_million && b.usd_per_million && *a.usd_per_million != *b.usd_per_million)
    return *a.usd_per_million < *b.usd_per_million;
  if (a.requests_per_s > 0 && a.gpus != b.gpus) return a.gpus < b.gpus;
  if (a.usd_per_million && b.usd_per_million) return *a.usd_per_million < *b.usd_per_million;
  return a.tokens_per_s_per_gpu > b.tokens_per_s_per_gpu;
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

int64_t chunk_of(const Load& load, EngineKind engine) {
  const int64_t chunk = load.chunk_tokens > 0 ? load.chunk_tokens : memory_rule(engine).chunk_tokens;
  // TensorRT-LLM computes whole prompts, beside the tokens that are decoded.
  const int64_t longest = load.workload.prompt_max + 256;
  return engine == EngineKind::kTensorRtLlm ? std::max(chunk, longest) : chunk;
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
  const Ranges& r = kRanges[static_cast<size_t>(engine)];
  return own_laws ? r.ttft_own : r.ttft_other;
}
ErrorRange tpot_range(EngineKind engine, bool own_laws) {
  const Ranges& r = kRanges[static_cast<size_t>(engine)];
  return own_laws ? r.tpot_own : r.tpot_other;
}

ServingMemory memory_of(const Deployment& d, double tokens) {
  const Parameters p = parameters_of(d.model);
  const auto bytes = [](double count, Format format) { return count * facts_of(format).bits / 8; };
  const double tensor = number_of(d.parallel.tensor), stage = tensor * number_of(d.parallel.data);
  const double tables = (p.total - p.attention - p.feed_forward - p.experts) * 2;
  ServingMemory m;
  m.weights =
      ((bytes(p.attention, d.formats.attention) + bytes(p.feed_forward, d.formats.feed_forward) + tables) / tensor +
       bytes(p.experts, d.formats.experts) / stage) /
      number_of(d.parallel.pipeline);
  double cache = 0;
  for (const Layers& group : d.model.layers) {
    const Attention& a = group.attention;
    const double share = a.kind == AttentionKind::kLatent ? 1 : share_of(a.kv_heads, d.parallel.tensor);
    cache += number_of(group.count) * cache_bytes(a, tokens, d.cache_bits) * share;
  }
  m.cache_per_token = cache / tokens / number_of(d.parallel.pipeline);
  const EngineMemory rule = memory_rule(d.engine);
  m.cache = rule.share_of_rest * (rule.share * d.gpu.memory_bytes - m.weights - rule.other_bytes);
  m.cache_tokens = std::max(0.0, m.cache / m.cache_per_token);
  return m;
}

Result<Serving> serve(const Deployment& given, int64_t replicas, const Load& load) {
  Deployment d = given;
  d.costs = costs_of(d.engine);
  d.gpu.start_share = d.costs.start_share;
  const Workload& w = load.workload;
  Serving s;
  s.gpu = d.gpu.name;
  s.engine = d.engine;
  s.parallel = d.parallel;
  s.replicas = replicas;
  s.gpus = replicas * d.parallel.gpus();
  s.concurrency = w.concurrency;
  s.requests_per_s = w.requests_per_s;
  s.weights = most_weights(d);
  const double length = mean_prompt(w) + mean_output(w);
  s.memory = memory_of(d, length);
  const bool own = has_own_laws(d.gpu);
  s.ttft_error = ttft_range(d.engine, own);
  s.tpot_error = tpot_range(d.engine, own);
  Scheduler scheduler{d.engine, chunk_of(load, d.engine)};
  scheduler.receive_interval = load.receive_interval;
  if (d.gpu.memory_bytes > 0) scheduler.cache_tokens = s.memory.cache_tokens;
  const double longest = number_of(w.prompt_max + w.output_max);
  if (d.gpu.memory_bytes > 0 && s.memory.cache_tokens < longest) {
    s.meets = false;
    s.why_not =
        fmt::format("{:.0f} GB of weights per GPU leave room for {:.0f} tokens of cache; one request has {:.0f}",
                    s.memory.weights / kGiga, s.memory.cache_tokens, longest);
    return s;
  }
  // Stages of a pipeline work on as many batches, each of a part of the sequences.
  const Workload part = part_of(w, replicas * d.parallel.data * d.parallel.pipeline);
  scheduler.cache_tokens /= number_of(d.parallel.pipeline);
  const StepTable steps(d, scheduler.chunk_tokens + std::max<int64_t>(part.concurrency, 256) * (1 + d.draft_tokens));
  RIDGE_ASSIGN(s.simulation, simulate(steps, d.costs, scheduler, part));
  s.simulation.output_tokens_per_s *= number_of(d.parallel.pipeline);
  s.rate_error = rate_range(s, w);
  set_rates(d, load, s);
  s.meets = meets(s, load.goals);
  const double batch = std::max(1.0, s.simulation.mean_decoding);
  s.decode_step = kernels_of(d, {batch, batch * s.simulation.mean_cached, {}, 0});
  s.prompt_step = kernels_of(d, {0, 0, {{mean_prompt(w), 0}}, 1});
  s.bound_tpot_ms = 1e3 * bound_of(s.decode_step) / w.tokens_per_step;
  return s;
}

std::vector<Serving> search(const Deployment& base, const Space& space, const Load& load) {
  std::vector<Serving> found;
  for (const Offer& offer : space.offers)
    for (const EngineKind engine : space.engines)
      for (const Formats& formats : space.formats)
        for (int64_t gpus = 1; gpus <= space.most_gpus; gpus *= 2)
          for (const Parallel& parallel : ways_to_split(space, base.model, gpus)) {
            if (!runs(engine, parallel)) continue;
            Deployment d = base;
            d.gpu = offer.gpu;
            d.engine = engine;
            d.formats = formats;
            d.parallel = parallel;
            Load own = load;
            own.prices = offer.prices;
            if (load.workload.requests_per_s > 0) {
              if (std::optional<Serving> s = fewest_replicas(d, own)) found.push_back(*std::move(s));
              continue;
            }
            const bool given = load.workload.concurrency > 0 || !load.workload.trace.empty();
            for (int64_t concurrency = 1; concurrency <= kMostConcurrency; concurrency *= 2) {
              if (!given) {
                own.workload.concurrency = concurrency * parallel.data;
                own.workload.requests = std::min<int64_t>(4 * concurrency, 400) + concurrency;
              }
              Result<Serving> s = serve(d, 1, own);
              if (!s || !s->why_not.empty()) break;
              const bool past = !s->meets && concurrency > 1;
              found.push_back(*std::move(s));
              if (given || past) break;
            }
          }
  std::stable_sort(found.begin(), found.end(), better);
  return found;
}

std::vector<Serving> front_of(const std::vector<Serving>& all) {
  std::vector<Serving> front;
  for (const Serving& s : all) {
    const bool beaten = std::any_of(all.begin(), all.end(), [&](const Serving& o) {
      return o.tokens_per_s_per_gpu >= s.tokens_per_s_per_gpu && o.tokens_per_s_per_user >= s.tokens_per_s_per_user &&
             (o.tokens_per_s_per_gpu > s.tokens_per_s_per_gpu || o.tokens_per_s_per_user > s.tokens_per_s_per_user);
    });
    if (!beaten) front.push_back(s);
  }
  std::sort(front.begin(), front.end(),
            [](const Serving& a, const Serving& b) { return a.tokens_per_s_per_user > b.tokens_per_s_per_user; });
  return front;
}

std::string advice(const Deployment& d, const Serving& s) {
  if (s.decode_step.empty()) return {};
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
  const Format now = longest->name == "experts"        ? d.formats.experts
                     : longest->name == "feed-forward" ? d.formats.feed_forward
                                                       : d.formats.attention;
  const Format narrower = facts_of(now).bits > 9 ? Format::kFp8 : Format::kNvfp4;
  if (facts_of(now).bits < 5) return what + ", limited by memory bandwidth: more GPUs, or more sequences per step";
  other.formats = {narrower, narrower, narrower};
  other.costs = costs_of(d.engine);
  other.gpu.start_share = other.costs.start_share;
  const double batch = std::max(1.0, s.simulation.mean_decoding);
  double then = 0;
  for (const KernelRow& row : kernels_of(other, {batch, batch * s.simulation.mean_cached, {}, 0}))
    then += row.time.seconds;
  return fmt::format("{}, limited by memory bandwidth: weights as {} make it {:.1f} x as fast", what,
                     facts_of(narrower).name, all / then);
}

}  // namespace ridge::llm
