#include "llm/search.h"

#include <algorithm>
#include <functional>

namespace ridge::llm {
namespace {

constexpr int64_t kMostReplicas = 256, kMostConcurrency = 512;  // that the search tries

// TensorRT-LLM's attention is divided among all GPUs or replicated on each (tensorrt_llm/mapping.py: dp_size).
bool runs(EngineKind engine, const Parallel& p) {
  return engine != EngineKind::kTensorRtLlm || p.tensor == 1 || p.data == 1;
}

std::vector<Parallel> ways_to_split(const Space& space, EngineKind engine, const Model& model, int64_t gpus) {
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
  std::erase_if(ways, [&](const Parallel& way) { return !runs(engine, way); });
  return ways;
}

// A way to serve: `replicas` of it under a load.
using WayToServe = std::function<Result<Serving>(int64_t replicas, const Load& load)>;

// The least number of replicas that carry the load's rate within its goals, or the most that were tried; none: the model does not fit.
std::optional<Serving> fewest_replicas(const WayToServe& way, const Load& load) {
  const auto at = [&](int64_t replicas) -> std::optional<Serving> {
    Result<Serving> s = way(replicas, load);
    if (!s || !s->why_not.empty()) return {};
    // A queue that grows without end is not carried, whatever the requests of a simulation saw of it.
    s->meets = s->meets && s->carried_per_s > 0.9 * load.workload.requests_per_s;
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

// The way at several concurrencies, or at the load's own. `replicas_of_attention`: that share a concurrency.
void try_loads(const WayToServe& way, int64_t replicas_of_attention, const Load& load, std::vector<Serving>& found) {
  if (load.workload.requests_per_s > 0) {
    if (std::optional<Serving> s = fewest_replicas(way, load)) found.push_back(*std::move(s));
    return;
  }
  const bool given = load.workload.concurrency > 0 || !load.workload.trace.empty();
  Load own = load;
  for (int64_t concurrency = 1; concurrency <= kMostConcurrency; concurrency *= 2) {
    if (!given) {
      own.workload.concurrency = concurrency * replicas_of_attention;
      own.workload.requests = (std::min<int64_t>(4 * concurrency, 400) + concurrency) * replicas_of_attention;
    }
    Result<Serving> s = way(1, own);
    if (!s || !s->why_not.empty()) return;
    const bool past = !s->meets && concurrency > 1;
    found.push_back(*std::move(s));
    if (given || past) return;
  }
}

// Seconds of GPUs for one prompt.
double prompt_cost(const Deployment& base, const Parallel& parallel, const Load& load) {
  Deployment d = with_costs(base);
  d.parallel = parallel;
  const double tokens = 0.5 * static_cast<double>(load.workload.prompt_min + load.workload.prompt_max);
  const StepTable steps(d, static_cast<int64_t>(tokens) + 1);
  return steps.seconds({0, 0, {{tokens, 0}}, 1}) * static_cast<double>(parallel.gpus()) /
         static_cast<double>(parallel.data);
}

// Prefill and decode workers that take all GPUs together. Of the splits of a prefill worker of one size the one that computes most prompts.
std::vector<Disaggregation> ways_to_disaggregate(const Deployment& base, const Space& space, const Load& load) {
  std::vector<Disaggregation> ways;
  Space prefill_space = space;
  if (space.prefill_tensor) prefill_space.tensor = space.prefill_tensor;
  for (int64_t prefill_gpus = 1; prefill_gpus < space.most_gpus; prefill_gpus *= 2) {
    std::vector<Parallel> prefill = ways_to_split(prefill_space, base.engine, base.model, prefill_gpus);
    if (prefill.empty()) continue;
    const Parallel best = *std::min_element(prefill.begin(), prefill.end(), [&](const Parallel& a, const Parallel& b) {
      return prompt_cost(base, a, load) < prompt_cost(base, b, load);
    });
    if (best.pipeline > 1) continue;
    for (int64_t decode_gpus = 1; decode_gpus < space.most_gpus; decode_gpus *= 2)
      for (const Parallel& decode : ways_to_split(space, base.engine, base.model, decode_gpus))
        for (int64_t workers = 1; decode.pipeline == 1 && workers * prefill_gpus < space.most_gpus; ++workers) {
          const int64_t rest = space.most_gpus - workers * prefill_gpus;
          if (rest % decode_gpus != 0) continue;
          const Disaggregation way{best, decode, workers, rest / decode_gpus};
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

std::vector<Serving> search(const Deployment& base, const Space& space, const Load& load) {
  std::vector<Serving> found;
  for (const Offer& offer : space.offers)
    for (const EngineKind engine : space.engines)
      for (const Formats& formats : space.formats) {
        Deployment d = base;
        d.gpu = offer.gpu;
        d.engine = engine;
        d.formats = formats;
        Load own = load;
        own.prices = offer.prices;
        for (int64_t gpus = 1; space.aggregated && gpus <= space.most_gpus; gpus *= 2)
          for (const Parallel& parallel : ways_to_split(space, engine, base.model, gpus)) {
            d.parallel = parallel;
            const WayToServe way = [&](int64_t replicas, const Load& under) { return serve(d, replicas, under); };
            try_loads(way, parallel.data, own, found);
          }
        if (!space.disaggregated) continue;
        for (const Disaggregation& pools : ways_to_disaggregate(d, space, own)) {
          const WayToServe way = [&](int64_t replicas, const Load& under) {
            return serve_disaggregated(d, pools, replicas, under);
          };
          try_loads(way, pools.decode_workers * pools.decode.data, own, found);
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

}  // namespace ridge::llm
