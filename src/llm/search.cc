#include "llm/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "catalogue/data.h"
#include "catalogue/table.h"

namespace ridge::llm {
namespace {

constexpr int64_t kMostReplicas = 256, kMostConcurrency = 512;  // that the search tries
constexpr int64_t kMostOfLlamaCpp = 8;  // at once: published figures of more requests are not known

// Why no way exists: the reason of the largest group of GPUs that was tried, and there of a run rather than of a split
// that no engine has.
struct Reason {
  std::string text;
  std::pair<int64_t, bool> rank;
  void note(int64_t gpus, bool of_run, std::string why) {
    if (why.empty() || (!text.empty() && std::pair(gpus, of_run) <= rank)) return;
    rank = {gpus, of_run};
    text = std::move(why);
  }
};

// Why the engine cannot split the model so; empty: it can.
std::string misfit(EngineKind engine, const Model& model, const Parallel& p) {
  const int64_t stage = p.tensor * p.data;
  bool has_experts = false;
  for (const Layers& group : model.layers) {
    has_experts |= group.feed_forward.experts > 0;
    if (group.attention.heads % p.tensor != 0)
      return fmt::format("{} attention heads cannot be divided among {} GPUs", group.attention.heads, p.tensor);
  }
  if (p.expert > 1 && !has_experts) return "the model has no experts to divide among GPUs";
  if (stage % p.expert != 0) return fmt::format("{} GPUs cannot be divided into {} for experts", stage, p.expert);
  // vllm/model_executor/layers/fused_moe/config.py: ep_size; tensorrt_llm/mapping.py: dp_size.
  if (engine == EngineKind::kVllm && p.expert > 1 && p.expert < stage)
    return fmt::format("vLLM divides each expert among all {} GPUs, or the experts: into 1 or {}", stage, stage);
  if (engine == EngineKind::kTensorRtLlm && p.tensor > 1 && p.data > 1)
    return "TensorRT-LLM divides attention among all GPUs or replicates it on each: tensor or data parallel, not both";
  return {};
}

// The given number, else powers of two.
std::vector<int64_t> numbers(std::optional<int64_t> given, int64_t most) {
  if (given) return {*given};
  std::vector<int64_t> all;
  for (int64_t n = 1; n <= most; n *= 2) all.push_back(n);
  return all;
}

std::vector<Parallel> ways_to_split(const Split& given, EngineKind engine, const Model& model, int64_t gpus,
                                    Reason& reason) {
  std::vector<Parallel> ways;
  bool has_experts = false, latent = false;
  for (const Layers& group : model.layers) {
    has_experts |= group.feed_forward.experts > 0;
    latent |= group.attention.kind == AttentionKind::kLatent;
  }
  const int64_t pipeline = given.pipeline.value_or(1), stage = gpus / pipeline;
  // Attention is replicated where a latent cache would otherwise be copied to every GPU, or where it is asked for.
  for (const int64_t data : numbers(given.data, latent && has_experts ? stage : 1))
    for (const int64_t tensor : numbers(given.tensor, stage)) {
      if (tensor * data * pipeline != gpus) continue;
      std::vector<int64_t> experts{given.expert.value_or(1)};
      if (!given.expert && has_experts && stage > 1) experts.push_back(stage);
      for (const int64_t expert : experts) {
        const Parallel way{.tensor = tensor,
                           .data = data,
                           .pipeline = pipeline,
                           .expert_tensor = has_experts ? stage / expert : 1,
                           .expert = expert};
        std::string why_not = misfit(engine, model, way);
        if (why_not.empty()) ways.push_back(way);
        reason.note(gpus, false, std::move(why_not));
      }
    }
  return ways;
}

// A way to serve: `replicas` of it under a load.
using WayToServe = std::function<Result<Serving>(int64_t replicas, const Load& load)>;

// None: it cannot run.
std::optional<Serving> run(const WayToServe& way, int64_t replicas, const Load& load, Reason& reason) {
  Result<Serving> s = way(replicas, load);
  if (s && s->why_not.empty()) return *std::move(s);
  if (s) reason.note(s->gpus, true, fmt::format("{} x {}: {}", s->gpus, s->gpu, s->why_not));
  if (!s) reason.note(replicas, true, s.error().message);
  return {};
}

// The least number of replicas that carry the load's rate within its goals, or the most that were tried; none: the
// model does not fit.
std::optional<Serving> fewest_replicas(const WayToServe& way, const Load& load, Reason& reason) {
  const auto at = [&](int64_t replicas) {
    std::optional<Serving> s = run(way, replicas, load, reason);
    if (!s) return s;
    // A queue that grows without end is not carried, whatever the requests of a simulation saw of it.
    s->meets = s->meets && s->carried_per_s > 0.9 * load.workload.requests_per_s;
    return s;
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

// The way at several concurrencies, or at the load's own. `replicas_of_attention`: that share a concurrency.
void try_loads(const WayToServe& way, int64_t replicas_of_attention, int64_t most, const Load& load,
               std::vector<Serving>& found, Reason& reason) {
  if (load.workload.requests_per_s > 0) {
    if (std::optional<Serving> s = fewest_replicas(way, load, reason)) found.push_back(*std::move(s));
    return;
  }
  const bool given = load.workload.concurrency > 0 || !load.workload.trace.empty();
  Load own = load;
  for (int64_t concurrency = 1; concurrency <= most; concurrency *= 2) {
    if (!given) {
      own.workload.concurrency = concurrency * replicas_of_attention;
      own.workload.requests = (std::min<int64_t>(4 * concurrency, 400) + concurrency) * replicas_of_attention;
    }
    std::optional<Serving> s = run(way, 1, own, reason);
    if (!s) return;
    const bool past = !s->meets && concurrency > 1;
    found.push_back(*std::move(s));
    if (given || past) return;
  }
}

// Seconds of GPUs for one prompt.
double prompt_cost(const Deployment& base, const Parallel& parallel, const Load& load) {
  Deployment d = base;
  d.parallel = parallel;
  const double tokens = 0.5 * static_cast<double>(load.workload.prompt_min + load.workload.prompt_max);
  const StepTable steps(d, static_cast<int64_t>(tokens) + 1);
  return steps.seconds({.chunks = {{.tokens = tokens}}, .prompts_done = 1}) * static_cast<double>(parallel.gpus()) /
         static_cast<double>(parallel.data);
}

// Prefill and decode workers that take all GPUs together. Of the splits of a prefill worker of one size the one that
// computes most prompts.
std::vector<Disaggregation> ways_to_disaggregate(const Deployment& base, const Space& space, const Load& load,
                                                 Reason& reason) {
  std::vector<Disaggregation> ways;
  Split prompts = space.split;
  if (space.prefill.tensor) prompts.tensor = space.prefill.tensor;
  if (space.prefill.data) prompts.data = space.prefill.data;
  if (space.prefill.expert) prompts.expert = space.prefill.expert;
  for (int64_t prefill_gpus = 1; prefill_gpus < space.most_gpus; prefill_gpus *= 2) {
    std::vector<Parallel> prefill = ways_to_split(prompts, base.engine, base.model, prefill_gpus, reason);
    if (prefill.empty()) continue;
    const Parallel best = *std::min_element(prefill.begin(), prefill.end(), [&](const Parallel& a, const Parallel& b) {
      return prompt_cost(base, a, load) < prompt_cost(base, b, load);
    });
    if (best.pipeline > 1) continue;
    for (int64_t decode_gpus = 1; decode_gpus < space.most_gpus; decode_gpus *= 2)
      for (const Parallel& decode : ways_to_split(space.split, base.engine, base.model, decode_gpus, reason))
        for (int64_t workers = 1; decode.pipeline == 1 && workers * prefill_gpus < space.most_gpus; ++workers) {
          const int64_t rest = space.most_gpus - workers * prefill_gpus;
          if (rest % decode_gpus != 0) continue;
          const Disaggregation way{
              .prefill = best, .decode = decode, .prefill_workers = workers, .decode_workers = rest / decode_gpus};
          if (space.prefill_workers.value_or(way.prefill_workers) != way.prefill_workers ||
              space.decode_workers.value_or(way.decode_workers) != way.decode_workers)
            continue;
          ways.push_back(way);
        }
  }
  return ways;
}

bool better(const Serving& a, const Serving& b) {
  if (a.meets != b.meets) return a.meets;
  if (a.requests_per_s > 0 && a.usd_per_million && b.usd_per_million && *a.usd_per_million != *b.usd_per_million)
    return *a.usd_per_million < *b.usd_per_million;
  if (a.requests_per_s > 0 && a.gpus != b.gpus) return a.gpus < b.gpus;
  if (a.usd_per_million && b.usd_per_million) return *a.usd_per_million < *b.usd_per_million;
  return a.tokens_per_s_per_gpu > b.tokens_per_s_per_gpu;
}

}  // namespace

std::string refusal(EngineKind engine, const Gpu& gpu, const Formats& formats) {
  constexpr std::array<std::string_view, 4> kColumns = {"engine", "weights", "least_capability", "source"};
  const std::string_view name = name_of(names_of(EngineKind{}), engine);
  if (gpu.vendor != "NVIDIA")
    return engine == EngineKind::kTensorRtLlm ? "TensorRT-LLM runs on NVIDIA's GPUs" : std::string();
  const Result<catalogue::Table> table =
      catalogue::Table::read(catalogue::data("engine_support"), "engine_support", kColumns);
  for (const WeightFormat format : {formats.attention, formats.feed_forward, formats.experts}) {
    double least = 0;
    for (size_t i = 0; table && i < table->size(); ++i) {
      const catalogue::TableRow row = table->row(i);
      if (row.text("engine") == name && row.text("weights") == name_of(names_of(format), format))
        least = row.number("least_capability").value_or(0);
    }
    if (least == 0) return fmt::format("{} loads no weights as {}", name, name_of(names_of(format), format));
    if (gpu.capability > 0 && gpu.capability < least)
      return fmt::format("{} needs compute capability {:.1f} for weights as {}; {} has {:.1f}", name, least,
                         name_of(names_of(format), format), gpu.name, gpu.capability);
  }
  return {};
}

SearchResult search(const Deployment& base, const Space& space, const Load& load) {
  SearchResult result;
  std::vector<Serving>& found = result.ways;
  for (const Offer& offer : space.offers) {
    Reason reason;
    const size_t before = found.size();
    for (const EngineKind engine : space.engines)
      for (const Formats& formats : space.formats) {
        if (std::string why = refusal(engine, offer.gpu, formats); !why.empty()) {
          reason.note(0, true, std::move(why));
          continue;
        }
        const int64_t most = engine == EngineKind::kLlamaCpp ? kMostOfLlamaCpp : kMostConcurrency;
        const int64_t most_gpus = engine == EngineKind::kLlamaCpp ? 1 : space.most_gpus;
        Deployment d = base;
        d.gpu = offer.gpu;
        d.formats = formats;
        d = with_engine(std::move(d), engine);
        Load own = load;
        own.prices = offer.prices;
        for (int64_t gpus = 1; space.aggregated && gpus <= most_gpus; ++gpus)
          for (const Parallel& parallel : ways_to_split(space.split, engine, base.model, gpus, reason)) {
            d.parallel = parallel;
            const WayToServe way = [&](int64_t replicas, const Load& under) { return serve(d, replicas, under); };
            try_loads(way, parallel.data, most, own, found, reason);
          }
        if (!space.disaggregated || engine == EngineKind::kLlamaCpp) continue;
        for (const Disaggregation& pools : ways_to_disaggregate(d, space, own, reason)) {
          const WayToServe way = [&](int64_t replicas, const Load& under) {
            return serve_disaggregated(d, pools, replicas, under);
          };
          try_loads(way, pools.decode_workers * pools.decode.data, most, own, found, reason);
        }
      }
    reason.note(0, false, "no group of GPUs has the split that was asked for; --gpus is the largest number of them");
    if (found.size() == before) result.missing.emplace_back(offer.gpu.name, std::move(reason.text));
  }
  std::stable_sort(found.begin(), found.end(), better);
  return result;
}

std::vector<Serving> front_of(const std::vector<Serving>& all) {
  std::vector<Serving> front;
  const bool any = std::any_of(all.begin(), all.end(), [](const Serving& s) { return s.meets; });
  double most = 0;
  for (const Serving& s : all) most = std::max(most, s.tokens_per_s_per_gpu);
  for (const Serving& s : all) {
    if ((any && !s.meets) || 100 * s.tokens_per_s_per_gpu < most) continue;
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

}  // namespace ridge::llm
