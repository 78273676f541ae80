// The least time that this machine needs for a step of a language model: FLOPs and cache by llm/model.h, weights as the
// decoder reads them. For `bench FOLDER`, `plan` and, live, `serve`. Immutable.
#pragma once

#include <cstdint>
#include <span>

#include "base/units.h"
#include "cost/costs.h"
#include "engine/decoder.h"
#include "llm/model.h"

namespace ridge::llm::cpu {

// The arithmetic whose peak bounds a step: matrices of 8 and 4 bits are multiplied by activations of 8; those in BF16
// in it or, widened, in FP32, whichever is faster.
Precision arithmetic_of(engine::WeightFormat weights);
double bits_of(engine::CacheForm cache);
// [bytes] that a step of one token reads, with all matrices in that form, the head too; of experts those of one token.
int64_t weight_bytes_of(const llm::Model& model, engine::WeightFormat weights);

// A step's arithmetic and reads.
struct StepWork {
  double flops = 0, bytes = 0;
};

class DecoderLimit {
 public:
  // `weight_bytes`: that a step of one token reads. `quota_factor`: machine/machine.h.
  DecoderLimit(llm::Model model, engine::WeightFormat weights, engine::CacheForm cache, int64_t weight_bytes,
               cost::DeviceLimits limits, double quota_factor);

  StepWork weights() const { return {0, weight_bytes_}; }
  // `tokens` new tokens of a sequence behind `cached` ones; the head computes `rows` of them.
  void add(double tokens, double cached, double rows, StepWork& work) const;
  cost::Bound bound(const StepWork& work) const;
  // [s] of a step; 0: not known.
  double seconds(std::span<const engine::StepSequence> sequences) const;

 private:
  const llm::Model model_;
  const double token_flops_, row_flops_;  // of the layers, of the head
  const double weight_bytes_, cache_bits_;
  const Precision precision_;
  const cost::DeviceLimits limits_;
  const double quota_factor_;
};

}  // namespace ridge::llm::cpu
