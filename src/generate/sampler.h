// Sampler: a row of logits → the next token, and chances for logprobs. The order is vLLM's: masks, bias, penalties,
// temperature, min_p, top_k, top_p. The token drawn depends on the logits, the parameters, the seed and the token's
// index in the answer, and on nothing else. One thread.
//
// No sort of the vocabulary: the k largest by a heap over one pass, the nucleus by bins of mass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "generate/scheduler.h"
#include "generate/token_counts.h"

namespace ridge::generate {

// Checks that it can draw by these parameters; the message names the parameter.
Status check(const Sampling& sampling);
// It has penalties, for which the tokens so far are counted.
bool has_penalties(const Sampling& sampling);

// In [0, 1), with 53 bits; number `index` of the sequence of `seed`.
double uniform(uint64_t seed, uint64_t index);

struct Draw {
  std::span<const float> logits;  // of the whole vocabulary
  const Sampling& sampling;
  const TokenCounts* counts = nullptr;  // with penalties
  TokenFilter* filter = nullptr;
  std::span<const int32_t> forbidden = {};  // tokens that may not come now
  uint64_t index = 0;                       // of the token in the answer
};

class Sampler {
 public:
  int32_t draw(const Draw& draw);

 private:
  struct Candidate {
    float weight = 0;  // exp((logit − largest) / temperature)
    int32_t token = 0;
  };
  std::span<const float> changed(const Draw& draw);
  int32_t draw_of_all(std::span<const float> logits, float largest, double temperature, double chance);
  int32_t draw_of_few(std::span<const float> logits, float largest, const Sampling& sampling, double chance);
  double collect(std::span<const float> logits, float largest, const Sampling& sampling);
  double keep_nucleus(double wanted);

  std::vector<float> changed_, weights_, boundary_;
  std::vector<double> bins_;
  std::vector<Candidate> candidates_;
};

// Natural logarithms of the softmax of one row.
class LogProbs {
 public:
  explicit LogProbs(std::span<const float> logits);
  float of(int32_t token) const;
  // Most likely first; of equal ones the smaller number.
  std::vector<TokenChance> most_likely(int count) const;

 private:
  std::span<const float> logits_;
  double log_sum_ = 0;
};

}  // namespace ridge::generate
