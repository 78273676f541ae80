// The search over ways of serving a language model: GPUs, engine, formats, split, aggregated or with prompts on workers
// of their own, and load. Pure.
#pragma once

#include <optional>
#include <vector>

#include "llm/serving.h"

namespace ridge::llm {

// A GPU at hand for the search, and its rent.
struct Offer {
  Gpu gpu;
  Prices prices;
};
// Numbers of GPUs that are given; the others are searched for.
struct Split {
  std::optional<int64_t> tensor = {}, data = {}, pipeline = {}, expert = {};
  bool any() const { return tensor || data || pipeline || expert; }
};
struct Space {
  std::vector<Offer> offers;
  std::vector<EngineKind> engines = {EngineKind::kVllm, EngineKind::kTensorRtLlm, EngineKind::kSglang,
                                     EngineKind::kLlamaCpp};
  std::vector<Formats> formats;
  int64_t most_gpus = 8;
  Split split, prefill;  // what `prefill` has is of the prefill workers, and `split` then of the decode workers
  bool aggregated = true, disaggregated = true;
  std::optional<int64_t> prefill_workers, decode_workers;  // given ones
};
struct SearchResult {
  std::vector<Serving> ways;  // best first
  // Reasons of the GPUs without a way: those of the largest group of them that was tried.
  std::vector<std::pair<std::string, std::string>> missing;
};
// Why the engine does not load weights of these forms on the GPU, by data/engine_support.csv; empty: it does.
std::string refusal(EngineKind engine, const Gpu& gpu, const Formats& formats);
// Every way in the space that fits, at several concurrencies or the load's own; where it has a rate, as many replicas
// as carry it. Best first: those that meet the goals, by cost (by GPUs where a price is missing), then by rate.
SearchResult search(const Deployment& base, const Space& space, const Load& load);
// The Pareto front of tokens/s per GPU and tokens/s per user; without those that miss the goals, if any meets them, or
// that cost a hundredfold.
std::vector<Serving> front_of(const std::vector<Serving>& all);

}  // namespace ridge::llm
