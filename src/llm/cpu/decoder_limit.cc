#include "llm/cpu/decoder_limit.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ridge::llm::cpu {
namespace {

constexpr std::array<std::pair<engine::CacheForm, double>, 3> kCacheBits = {{
    {engine::CacheForm::kFp32, 32},
    {engine::CacheForm::kBf16, 16},
    {engine::CacheForm::kU8, 8},
}};

// FLOPs per token: every matrix and vector of the layers is multiplied and added.
double layer_flops(const llm::Parameters& p) {
  return 2 * (p.attention + p.feed_forward + p.router + p.experts_used + p.small);
}

}  // namespace

Precision arithmetic_of(WeightFormat weights) {
  switch (weights) {
    case WeightFormat::kFp32: return Precision::kFp32;
    case WeightFormat::kBf16:
    case WeightFormat::kFp16: return Precision::kBf16;
    default: return Precision::kInt8;
  }
}
double bits_of(engine::CacheForm cache) {
  return std::ranges::find(kCacheBits, cache, &std::pair<engine::CacheForm, double>::first)->second;
}

int64_t weight_bytes_of(const llm::Model& model, engine::WeightFormat weights) {
  const llm::Parameters p = llm::parameters_of(model);
  const double matrices = p.attention + p.feed_forward + p.experts_used + p.head;
  return static_cast<int64_t>((matrices * bits_of(weights) + (p.router + p.small) * other_bits_of(weights)) / 8);
}

DecoderLimit::DecoderLimit(llm::Model model, engine::WeightFormat weights, engine::CacheForm cache,
                           int64_t weight_bytes, cost::DeviceLimits limits, double quota_factor)
    : model_(std::move(model)),
      token_flops_(layer_flops(llm::parameters_of(model_))),
      row_flops_(2 * llm::parameters_of(model_).head),
      weight_bytes_(static_cast<double>(weight_bytes)),
      cache_bits_(bits_of(cache)),
      precision_(arithmetic_of(weights)),
      limits_(std::move(limits)),
      quota_factor_(quota_factor) {}

void DecoderLimit::add(double tokens, double cached, double rows, StepWork& work) const {
  work.flops += tokens * token_flops_ + rows * row_flops_ + llm::attention_flops(model_, tokens, cached);
  work.bytes += llm::cache_bytes(model_, cached, cache_bits_);
}

cost::Bound DecoderLimit::bound(const StepWork& work) const {
  cost::Bound bound = cost::bound(work.flops, work.bytes, precision_, limits_);
  for (double* ms : {&bound.ms, &bound.compute_ms, &bound.memory_ms}) *ms /= quota_factor_;
  return bound;
}

double DecoderLimit::seconds(std::span<const engine::StepSequence> sequences) const {
  StepWork work = weights();
  for (const engine::StepSequence& sequence : sequences)
    add(static_cast<double>(sequence.tokens.size()), static_cast<double>(sequence.past),
        static_cast<double>(sequence.samples), work);
  return bound(work).ms / 1e3;
}

}  // namespace ridge::llm::cpu
