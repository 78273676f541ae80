// How far a form's logits are from the reference's on a text, and whether that is accepted. The text is run in pieces,
// so that later ones read the cache.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/figure.h"
#include "base/result.h"
#include "engine/decoder.h"

namespace ridge::tune::language {

using Windows = std::vector<std::vector<int32_t>>;  // pieces of a text, each a sequence of its own
// At most `most` tokens in windows of at most `length`, evenly spread over the text; windows of one token are left out.
Windows windows_of(std::span<const int32_t> text, int64_t most, int64_t length);

struct Reference {
  std::vector<float> log_probabilities;  // [token, vocabulary]: natural logarithms
  double perplexity = 0;
};

struct Deviation {
  double kl_mean = 0, kl_max = 0;  // [nats] Kullback-Leibler divergence of a token's distribution from the reference's
  double logit_mean = 0, logit_max = 0;  // |difference| of log-probabilities, of all tokens of the vocabulary
  double top1 = 0;                       // share of the tokens whose most likely successor is the same
  double perplexity = 0, perplexity_ratio = 0;
  int64_t tokens = 0;
};
void visit_fields(auto& visit, Is<Deviation> auto& deviation) {
  visit("kl_mean", deviation.kl_mean, Figure().column("KL, mean"));
  visit("kl_max", deviation.kl_max, Figure().column("KL, largest").leaves(2));
  visit("logit_mean", deviation.logit_mean, Figure().column("log-prob. off by, mean").leaves(1));
  visit("logit_max", deviation.logit_max, Figure().column("log-prob. off by, largest").leaves(1));
  visit("top1", deviation.top1, Figure().column("same first token").in("share"));
  visit("perplexity", deviation.perplexity);
  visit("perplexity_ratio", deviation.perplexity_ratio, Figure().column("perplexity").in("×"));
  visit("tokens", deviation.tokens);
}

// Reserves the decoder's cache anew. Errors: the decoder's; kCancelled: `interrupted` (may be empty).
Result<Reference> reference_of(engine::Decoder& decoder, const Windows& windows,
                               const std::function<bool()>& interrupted = {});
Result<Deviation> deviation_of(engine::Decoder& decoder, const Windows& windows, const Reference& reference,
                               const std::function<bool()>& interrupted = {});

// Accepted at most. The defaults are assumed: between usual losses of 8-bit and of coarse 4-bit weights.
struct Bounds {
  double kl = 0.05;                // [nats] mean
  double perplexity_ratio = 1.05;  // of the form's to the reference's
};
void visit_fields(auto& visit, Is<Bounds> auto& bounds) {
  visit("kl", bounds.kl);
  visit("perplexity_ratio", bounds.perplexity_ratio);
}
// Why it is not accepted, with the number; empty: it is.
std::string judge(const Deviation& deviation, const Bounds& bounds);

}  // namespace ridge::tune::language
