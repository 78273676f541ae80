#include "llm/step.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ridge::llm {
namespace {

constexpr std::array<std::pair<EngineKind, std::string_view>, 4> kEngineNames = {{{EngineKind::kVllm, "vllm"},
                                                                                  {EngineKind::kTensorRtLlm, "trtllm"},
                                                                                  {EngineKind::kSglang, "sglang"},
                                                                                  {EngineKind::kLlamaCpp, "llamacpp"}}};
// In the order of EngineKind, of today's releases. The first three compose the next step while one runs: vLLM's
// asynchronous scheduling (default since 0.14, github.com/vllm-project/vllm/pull/27614), TensorRT-LLM's and SGLang's
// overlap schedulers; the last two hand a step's tokens out when the next is launched. vLLM records graphs of up to
// 512 tokens, of prompts between the attentions, and compiles the rest (vllm/config/compilation.py); the others launch
// a prompt's kernels one by one.
constexpr auto kCosts = [] {
  std::array<EngineCosts, 4> engines = {{{.kernel_us = 2.5,
                                          .eager_kernel_us = 10,
                                          .graph_tokens = 512,
                                          .sequence_us = 10,
                                          .prompt_factor = 1.4,
                                          .token_us = 8,
                                          .steps_ahead = 1,
                                          .fixed_ms = 8},
                                         {.kernel_us = 3,
                                          .eager_kernel_us = 50,
                                          .sequence_us = 20,
                                          .prompt_factor = 1.25,
                                          .token_us = 5,
                                          .start_share = 0.2,
                                          .lag_steps = 1,
                                          .steps_ahead = 1},
                                         {.kernel_us = 2.5,
                                          .eager_kernel_us = 100,
                                          .sequence_us = 10,
                                          .prompt_factor = 1.4,
                                          .token_us = 17,
                                          .start_share = 0.8,
                                          .lag_steps = 1,
                                          .steps_ahead = 1,
                                          .fixed_ms = 8},
                                         {.kernel_us = 5,
                                          .eager_kernel_us = 50,
                                          .sequence_us = 20,
                                          .prompt_factor = 1.15,
                                          .token_us = 5,
                                          .start_share = 0.8,
                                          .lag_steps = 1,
                                          .fixed_ms = 5}}};
  for (EngineCosts& engine : engines) {
    engine.router_ms = 40;
    engine.handover_ms = 60;
  }
  return engines;
}();

// Sources: vllm/v1/core/sched/scheduler.py; tensorrt_llm/_torch/pyexecutor/scheduler.py (capacity: guaranteed no
// eviction); sglang/srt/managers/scheduler.py (get_next_batch_to_run); llama.cpp tools/server (update_slots), whose
// slots own their part of the cache.
constexpr EngineRules kRules[4] = {{.takes_blocks = true}, {.whole_prompts = true}, {.prompts_alone = true}, {}};

// Bytes per token, layer and hidden value that norms, residual, activation and rotary embedding read and write: 8
// values of 16 bits.
constexpr double kElementwiseBytes = 16;

double number(int64_t value) { return static_cast<double>(value); }

void add(KernelTime& sum, const KernelTime& t, double count) {
  sum.seconds += count * t.seconds;
  sum.bound_seconds += count * t.bound_seconds;
  sum.compute_bound = t.compute_bound;
  sum.error_percent = std::max(sum.error_percent, t.error_percent);
  sum.own = t.own;
}

// Collects kernels of equal names.
struct Rows {
  std::vector<KernelRow>& rows;
  void operator()(std::string_view name, const KernelTime& t, double count) {
    if (count <= 0 || t.seconds <= 0) return;
    auto found = std::find_if(rows.begin(), rows.end(), [&](const KernelRow& row) { return row.name == name; });
    if (found == rows.end())
      found = rows.insert(rows.end(), KernelRow{.name = std::string(name), .calls = 0, .time = {}});
    found->calls += count;
    add(found->time, t, count);
  }
};

double share(int64_t heads, int64_t gpus) { return std::max(1.0, number(heads) / number(gpus)); }

// Projections of one attention layer.
void projections(const Deployment& d, const Attention& a, double n, double count, auto& row) {
  const Gpu& gpu = d.gpu;
  const WeightFormat format = d.formats.attention;
  const double hidden = number(d.model.hidden), heads = share(a.heads, d.parallel.tensor);
  const double kv_heads = share(a.kv_heads, d.parallel.tensor), key = number(a.head_dim), value = number(a.value_dim);
  if (a.kind == AttentionKind::kLatent) {
    const double rank = number(a.latent_rank), rope = number(a.rope_dim);
    const double down =
        rank + rope + number(a.query_rank) + (a.index_heads > 0 ? number(a.index_dim + a.index_heads) : 0);
    row("query, key, value", gemm(gpu, format, n, down, hidden), count);
    const double from = a.query_rank > 0 ? number(a.query_rank) : hidden;
    row("query up", gemm(gpu, format, n, heads * key, from), count);
    if (a.index_heads > 0) row("query up", gemm(gpu, format, n, number(a.index_heads * a.index_dim), from), count);
    // Queries into the latent space and values out of it, one product per head, or keys and values for prompts.
    row("latent up", gemm(gpu, WeightFormat::kBf16, n, heads * (key - rope + value), rank), count);
    row("output", gemm(gpu, format, n, hidden, heads * value), count);
    return;
  }
  if (a.kind == AttentionKind::kLinear) {
    row("query, key, value", gemm(gpu, format, n, 2 * kv_heads * key + 2 * heads * value + 2 * heads, hidden), count);
    row("output", gemm(gpu, format, n, hidden, heads * value), count);
    return;
  }
  row("query, key, value", gemm(gpu, format, n, (heads * (a.output_gate ? 2 : 1) + 2 * kv_heads) * key, hidden), count);
  row("output", gemm(gpu, format, n, hidden, heads * key), count);
  // A norm over the heads of all GPUs sums its squares among them.
  if (a.qk_norm_wide) row("all-reduce", all_reduce(gpu, number(d.parallel.tensor), 8 * n), count);
}

void feed_forward(const Deployment& d, const FeedForward& f, double n, double count, auto& row) {
  const double hidden = number(d.model.hidden), tensor = number(d.parallel.tensor);
  const double width = number(f.intermediate + f.shared_intermediate) / tensor, up = f.gated ? 2 : 1;
  if (width > 0) {
    const char* name = f.experts > 0 ? "shared expert" : "feed-forward";
    row(name, gemm(d.gpu, d.formats.feed_forward, n, up * width, hidden), count);
    row(name, gemm(d.gpu, d.formats.feed_forward, n, hidden, width), count);
  }
  if (f.experts == 0) return;
  row("router", gemm(d.gpu, WeightFormat::kBf16, n, number(f.experts), hidden), count);
  ExpertWork work;
  work.hidden = hidden;
  work.intermediate = number(f.expert_intermediate);
  work.experts = number(f.experts);
  work.per_token = number(f.experts_per_token);
  work.tensor_parallel = number(d.parallel.expert_tensor);
  work.expert_parallel = number(d.parallel.expert);
  work.tokens = n * number(d.parallel.data);
  work.gated = f.gated;
  row("experts", experts(d.gpu, d.formats.experts, work, name_of(kEngineNames, d.engine)), count);
}

// After attention and after the feed-forward network; with attention replicas the experts' tokens are gathered and
// scattered instead.
void communication(const Deployment& d, const FeedForward& f, double n, double count, auto& row) {
  const double bytes = n * number(d.model.hidden) * 2, data = number(d.parallel.data),
               tensor = number(d.parallel.tensor);
  row("all-reduce", all_reduce(d.gpu, tensor, bytes), count);
  if (f.experts > 0 && d.parallel.data > 1)
    row("gather, scatter", all_reduce(d.gpu, data * tensor, bytes * data), count);
  else
    row("all-reduce", all_reduce(d.gpu, tensor, bytes), count);
}

// True if a kernel computes the tokens of all attention replicas.
bool is_shared(const Deployment& d, std::string_view name) {
  return d.parallel.data > 1 && (name == "experts" || name == "gather, scatter");
}

// All kernels that depend on the number of tokens only.
void token_kernels(const Deployment& d, double n, auto&& row) {
  if (n <= 0) return;
  const double hidden = number(d.model.hidden), layers = number(d.model.layer_count());
  for (const Layers& group : d.model.layers) {
    const double count = number(group.count);
    projections(d, group.attention, n, count, row);
    feed_forward(d, group.feed_forward, n, count, row);
    communication(d, group.feed_forward, n, count, row);
  }
  row("elementwise", elementwise(d.gpu, kElementwiseBytes * n * hidden), layers);
  if (d.parallel.pipeline > 1) {
    KernelTime send;
    send.bound_seconds = n * hidden * 2 / d.gpu.link_bytes_per_s;
    send.seconds = 10e-6 + send.bound_seconds / 0.8;
    row("send to the next stage", send, number(d.parallel.pipeline - 1));
  }
}

KernelTime head(const Deployment& d, double rows) {
  return gemm(d.gpu, facts_of(d.formats.feed_forward).tables, rows,
              number(d.model.vocabulary) / number(d.parallel.tensor), number(d.model.hidden));
}

double decoded_tokens(const Deployment& d, const Step& step) { return step.sequences * number(1 + d.draft_tokens); }

void attention_kernels(const Deployment& d, const Step& step, auto&& row) {
  for (const Layers& group : d.model.layers) {
    const Attention& a = group.attention;
    const double heads = share(a.heads, d.parallel.tensor), kv_heads = share(a.kv_heads, d.parallel.tensor);
    if (step.sequences > 0) {
      const DecodeWork work{.attention = a,
                            .heads = heads,
                            .kv_heads = kv_heads,
                            .sequences = step.sequences,
                            .cached = step.cached,
                            .cache_bits = d.cache_bits,
                            .new_tokens = number(1 + d.draft_tokens)};
      row("attention, decode", decode_attention(d.gpu, work), number(group.count));
    }
    if (step.chunks.empty()) continue;
    // Prompts of one step share a launch.
    KernelTime all;
    const double start = d.gpu.start_share * d.gpu.prefill.t0_us * 1e-6;
    for (const Step::Chunk& chunk : step.chunks) {
      KernelTime t = prefill_attention(
          d.gpu,
          {.attention = a, .heads = heads, .kv_heads = kv_heads, .tokens = chunk.tokens, .cached = chunk.cached});
      t.seconds = std::max(t.seconds - start, t.bound_seconds);
      add(all, t, 1);
    }
    all.seconds += start;
    row("attention, prompts", all, number(group.count));
  }
}

// The layer of multi-token prediction as a model of its own.
Deployment draft_of(const Deployment& d) {
  Deployment draft = d;
  draft.model.layers = {d.model.layers.back()};
  draft.model.layers.front().count = 1;
  draft.draft_tokens = 0;
  return draft;
}

// One draft token for each of `n` sequences, without attention.
void draft_kernels(const Deployment& draft, double n, auto&& row) {
  token_kernels(draft, n, row);
  const double hidden = number(draft.model.hidden);
  row("join", gemm(draft.gpu, draft.formats.attention, n, hidden, 2 * hidden / number(draft.parallel.tensor)), 1);
  row("head", head(draft, n), 1);
}

double tokens_of(const Deployment& d, const Step& step) {
  double tokens = decoded_tokens(d, step);
  for (const Step::Chunk& chunk : step.chunks) tokens += chunk.tokens;
  return tokens;
}

// Small kernels of a layer beside its products, by the engines' code. Attention itself, two norms, rotary embedding
// with the write to the cache, activation; linear: convolution, gates, norms of queries, keys and outputs, and the
// chunks' kernels; an index: norms, rotations, scales, scores and choice.
double small_kernels(const Attention& a) {
  return 4 + (a.kind == AttentionKind::kLinear ? 6 : 0) + (a.index_heads > 0 ? 8 : 0);
}
// Routing, sorting, scales, both products, activation and sum, which the laws of experts count as one.
constexpr double kExpertKernels = 8;

Launches launches_of(const Deployment& d) {
  Launches all;
  auto count = [&](std::string_view name, const KernelTime& t, double calls) {
    if (t.seconds <= 0) return;
    all.recorded += calls;
    all.eager += calls * (name == "experts" ? kExpertKernels : 1);
  };
  const auto add_small = [&](const Attention& a, double layers) {
    all.recorded += small_kernels(a) * layers;
    all.eager += small_kernels(a) * layers;
  };
  token_kernels(d, 1, count);
  for (const Layers& group : d.model.layers) add_small(group.attention, number(group.count));
  if (drafts(d)) {
    const double drafted = number(d.draft_tokens);
    draft_kernels(draft_of(d), 1,
                  [&](std::string_view name, const KernelTime& t, double calls) { count(name, t, calls * drafted); });
    add_small(d.model.layers.back().attention, drafted);
  }
  return all;
}

double own_costs(const Deployment& d, const Step& step, const Launches& launches) {
  return d.costs.kernel_us * 1e-6 * launches.recorded + d.costs.sequence_us * 1e-6 * step.sequences;
}

double prompt_factor_of(const Deployment& d, const Step& step) {
  return step.chunks.empty() ? 1 : 1 + (d.costs.prompt_factor - 1) * step.sustained;
}

// The host's least time to launch a step with prompts, which is not a recorded graph.
double least_seconds(const Deployment& d, const Step& step, const Launches& launches) {
  if (step.chunks.empty() || tokens_of(d, step) <= d.costs.graph_tokens) return 0;
  return d.costs.eager_kernel_us * 1e-6 * launches.eager;
}

}  // namespace

NameTable<EngineKind> names_of(EngineKind) { return kEngineNames; }
const EngineCosts& costs_of(EngineKind engine) { return kCosts[static_cast<size_t>(engine)]; }

const EngineRules& rules_of(EngineKind engine) { return kRules[static_cast<size_t>(engine)]; }

Deployment with_engine(Deployment d, EngineKind engine) {
  d.engine = engine;
  d.costs = costs_of(engine);
  d.gpu.start_share = d.costs.start_share;
  return d;
}

std::vector<KernelRow> kernels_of(const Deployment& d, const Step& step) {
  std::vector<KernelRow> rows;
  Rows row{rows};
  const double tokens = tokens_of(d, step);
  token_kernels(d, tokens, [&](std::string_view name, const KernelTime& t, double count) {
    if (step.balance == 1 || !is_shared(d, name)) row(name, t, count);
  });
  if (step.balance != 1)
    token_kernels(d, tokens * step.balance, [&](std::string_view name, const KernelTime& t, double count) {
      if (is_shared(d, name)) row(name, t, count);
    });
  attention_kernels(d, step, row);
  const double sampled = decoded_tokens(d, step) + step.prompts_done;
  if (sampled > 0) row("head", head(d, sampled), 1);
  if (drafts(d) && step.sequences > 0) {
    const Deployment draft = draft_of(d);
    const auto as_draft = [&](std::string_view, const KernelTime& t, double count) {
      row("draft", t, count * number(d.draft_tokens));
    };
    draft_kernels(draft, step.sequences, as_draft);
    attention_kernels(draft, {.sequences = step.sequences, .cached = step.cached}, as_draft);
  }
  for (KernelRow& each : rows) each.time.seconds *= prompt_factor_of(d, step);
  KernelTime own;
  const Launches launches = launches_of(d);
  double all = 0;
  for (const KernelRow& each : rows) all += each.time.seconds;
  own.seconds = std::max(own_costs(d, step, launches), least_seconds(d, step, launches) - all);
  row("engine", own, 1);
  return rows;
}

StepTable::StepTable(const Deployment& deployment, int64_t most_tokens)
    : deployment_(deployment), launches_(launches_of(deployment)) {
  // Every number up to 8, then eight in each octave: tiles make steps of the same order.
  for (double n = 1; n <= 8; ++n) tokens_.push_back(n);
  while (tokens_.back() < static_cast<double>(most_tokens)) {
    const double octave = std::exp2(std::floor(std::log2(tokens_.back())));
    tokens_.push_back(tokens_.back() + std::max(1.0, octave / 8));
  }
  for (const double n : tokens_) {
    double own = 0, shared = 0;
    token_kernels(deployment_, n, [&](std::string_view name, const KernelTime& t, double count) {
      (is_shared(deployment_, name) ? shared : own) += count * t.seconds;
    });
    layers_.push_back(own);
    shared_.push_back(shared);
    head_.push_back(head(deployment_, n).seconds);
    if (!drafts(deployment_)) continue;
    double draft = 0;
    draft_kernels(draft_of(deployment_), n,
                  [&](std::string_view, const KernelTime& t, double count) { draft += count * t.seconds; });
    draft_.push_back(draft);
  }
}

double StepTable::at(const std::vector<double>& values, double tokens) const {
  if (tokens <= 0) return 0;
  const auto above = std::lower_bound(tokens_.begin(), tokens_.end(), tokens);
  if (above == tokens_.begin()) return values.front();
  if (above == tokens_.end()) return values.back() * tokens / tokens_.back();
  const auto i = static_cast<size_t>(above - tokens_.begin());
  const double part = (tokens - tokens_[i - 1]) / (tokens_[i] - tokens_[i - 1]);
  return values[i - 1] + part * (values[i] - values[i - 1]);
}

double StepTable::seconds(const Step& step) const {
  double attention = 0;
  auto sum = [&](std::string_view, const KernelTime& t, double count) { attention += count * t.seconds; };
  attention_kernels(deployment_, step, sum);
  if (!draft_.empty() && step.sequences > 0) {
    const Layers& last = deployment_.model.layers.back();
    const DecodeWork work{.attention = last.attention,
                          .heads = share(last.attention.heads, deployment_.parallel.tensor),
                          .kv_heads = share(last.attention.kv_heads, deployment_.parallel.tensor),
                          .sequences = step.sequences,
                          .cached = step.cached,
                          .cache_bits = deployment_.cache_bits};
    attention += number(deployment_.draft_tokens) *
                 (at(draft_, step.sequences) + decode_attention(deployment_.gpu, work).seconds);
  }
  const double tokens = tokens_of(deployment_, step);
  const double kernels = at(layers_, tokens) + at(shared_, tokens * step.balance) + attention +
                         at(head_, decoded_tokens(deployment_, step) + step.prompts_done);
  return std::max(prompt_factor_of(deployment_, step) * kernels + own_costs(deployment_, step, launches_),
                  least_seconds(deployment_, step, launches_));
}

}  // namespace ridge::llm
