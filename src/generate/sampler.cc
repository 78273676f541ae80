#include "generate/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "base/random.h"
#include "generate/row_kernels.h"

namespace ridge::generate {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// Equal values rank by index, the smaller first.
struct Ranked {
  float value = 0;
  int32_t index = 0;
  bool operator<(const Ranked& other) const { return value != other.value ? value < other.value : index > other.index; }
};

// The `count` largest, in no order: a heap whose top is the least of those kept.
std::vector<Ranked> largest_of(std::span<const float> row, size_t count) {
  const auto more = [](const Ranked& a, const Ranked& b) { return b < a; };
  std::vector<Ranked> kept;
  if (count == 0) return kept;
  kept.reserve(count);
  for (size_t i = 0; i < row.size(); ++i) {
    if (kept.size() < count) {
      kept.push_back({row[i], static_cast<int32_t>(i)});
      std::ranges::push_heap(kept, more);
    } else if (row[i] > kept.front().value) {
      std::ranges::pop_heap(kept, more);
      kept.back() = {row[i], static_cast<int32_t>(i)};
      std::ranges::push_heap(kept, more);
    }
  }
  return kept;
}

}  // namespace

Status check(const Sampling& sampling) {
  const auto wrong = [](const char* name, double value, const char* range) {
    return invalid(fmt::format("{} is {}; it must be {}", name, value, range));
  };
  // Written so that what is not a number is refused too.
  if (!(sampling.temperature >= 0 && std::isfinite(sampling.temperature)))
    return wrong("temperature", sampling.temperature, "at least 0");
  if (!(sampling.top_p > 0 && sampling.top_p <= 1)) return wrong("top_p", sampling.top_p, "above 0 and at most 1");
  if (sampling.top_k < 0) return wrong("top_k", sampling.top_k, "at least 0 (all tokens)");
  if (!(sampling.min_p >= 0 && sampling.min_p <= 1)) return wrong("min_p", sampling.min_p, "from 0 to 1");
  if (!(std::abs(sampling.presence_penalty) <= 2))
    return wrong("presence_penalty", sampling.presence_penalty, "from -2 to 2");
  if (!(std::abs(sampling.frequency_penalty) <= 2))
    return wrong("frequency_penalty", sampling.frequency_penalty, "from -2 to 2");
  if (!(sampling.repetition_penalty > 0 && std::isfinite(sampling.repetition_penalty)))
    return wrong("repetition_penalty", sampling.repetition_penalty, "above 0");
  for (const auto& [token, bias] : sampling.logit_bias) {
    if (token < 0) return wrong("a token of logit_bias", token, "at least 0");
    if (std::isnan(bias)) return wrong("a value of logit_bias", bias, "a number");
  }
  return {};
}

bool has_penalties(const Sampling& sampling) {
  return sampling.presence_penalty != 0 || sampling.frequency_penalty != 0 || sampling.repetition_penalty != 1;
}

double uniform(uint64_t seed, uint64_t index) {
  const uint64_t start = split_mix(seed + kGoldenGamma);
  return static_cast<double>(split_mix(start + (index + 1) * kGoldenGamma) >> 11) * 0x1p-53;
}

// The logits after masks, bias and penalties.
std::span<const float> Sampler::changed(const Draw& draw) {
  const Sampling& sampling = draw.sampling;
  const bool penalties = has_penalties(sampling) && draw.counts != nullptr;
  if (!penalties && draw.filter == nullptr && draw.forbidden.empty() && sampling.logit_bias.empty()) return draw.logits;
  changed_.assign(draw.logits.begin(), draw.logits.end());
  const auto at = [&](int32_t token) -> float* {
    return token >= 0 && static_cast<size_t>(token) < changed_.size() ? &changed_[token] : nullptr;
  };
  if (draw.filter != nullptr) draw.filter->mask(changed_);
  for (const int32_t token : draw.forbidden) {
    if (float* logit = at(token)) *logit = kNever;
  }
  for (const auto& [token, bias] : sampling.logit_bias) {
    if (float* logit = at(token)) *logit += bias;
  }
  if (!penalties) return changed_;
  // Presence and frequency: https://platform.openai.com/docs/api-reference; repetition: CTRL (arXiv:1909.05858).
  const auto repetition = static_cast<float>(sampling.repetition_penalty);
  for (const auto& [token, times] : draw.counts->answer) {
    float* logit = at(token);
    if (logit == nullptr) continue;
    *logit = *logit > 0 ? *logit / repetition : *logit * repetition;
    if (times > 0) *logit -= static_cast<float>(sampling.frequency_penalty * times + sampling.presence_penalty);
  }
  return changed_;
}

int32_t Sampler::draw(const Draw& draw) {
  const std::span<const float> logits = changed(draw);
  const Sampling& sampling = draw.sampling;
  const int32_t likeliest = index_of_largest(logits);
  const float largest = logits[likeliest];
  // Below a temperature of 1e-5 only equal logits would share the draw (vLLM takes it for greedy too).
  if (sampling.temperature < 1e-5 || sampling.top_k == 1 || !std::isfinite(largest)) return likeliest;
  const double chance = uniform(sampling.seed, draw.index);
  const bool all = sampling.top_p >= 1 && sampling.min_p <= 0 &&
                   (sampling.top_k == 0 || static_cast<size_t>(sampling.top_k) >= logits.size());
  return all ? draw_of_all(logits, largest, sampling.temperature, chance)
             : draw_of_few(logits, largest, sampling, chance);
}

int32_t Sampler::draw_of_all(std::span<const float> logits, float largest, double temperature, double chance) {
  weights_.resize(logits.size());
  const double sum = exponentials(logits, largest, static_cast<float>(1 / temperature), weights_);
  double left = chance * sum;
  constexpr size_t kRun = 256;
  size_t begin = 0;
  for (; begin + kRun < weights_.size(); begin += kRun) {
    const double run = sum_of(std::span(weights_).subspan(begin, kRun));
    if (left < run) break;
    left -= run;
  }
  int32_t last = index_of_largest(logits);  // with a weight, where rounding leaves something over
  for (size_t i = begin; i < weights_.size(); ++i) {
    if (!(weights_[i] > 0)) continue;
    last = static_cast<int32_t>(i);
    left -= weights_[i];
    if (left < 0) break;
  }
  return last;
}

// Tokens and weights that top_k and min_p leave, in the order of the tokens; returns the sum of their weights. Tokens
// that top_p is sure to leave out are in the sum only.
double Sampler::collect(std::span<const float> logits, float largest, const Sampling& sampling) {
  const auto scale = static_cast<float>(1 / sampling.temperature);
  const auto least = static_cast<float>(sampling.min_p);
  candidates_.clear();
  double total = 0;
  if (sampling.top_k > 0 && static_cast<size_t>(sampling.top_k) < logits.size()) {
    for (const Ranked& ranked : largest_of(logits, sampling.top_k)) {
      const float weight = std::exp((ranked.value - largest) * scale);
      if (weight > 0 && weight >= least) candidates_.push_back({weight, ranked.index});
    }
    std::ranges::sort(candidates_, {}, &Candidate::token);
    for (const Candidate& candidate : candidates_) total += candidate.weight;
    return total;
  }
  weights_.resize(logits.size());
  total = exponentials(logits, largest, scale, weights_);
  if (least > 0) {
    total = 0;
    for (const float weight : weights_) total += weight >= least ? weight : 0;
  }
  // Tokens below this weigh, all together, less than what top_p leaves out.
  const auto too_little = static_cast<float>((1 - sampling.top_p) * total / static_cast<double>(logits.size()));
  const float bound = std::max(least, too_little);
  for (size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] > 0 && weights_[i] >= bound) candidates_.push_back({weights_[i], static_cast<int32_t>(i)});
  }
  return total;
}

// Keeps the fewest of the heaviest candidates whose sum is at least `wanted`, in their order; returns that sum. One
// pass sorts masses by the first bits of the weights (an eighth of a power of two), so that only those at the boundary
// are sorted. Of equal weights the first tokens are kept.
double Sampler::keep_nucleus(double wanted) {
  constexpr int kShift = 20;
  const auto bin_of = [](float weight) { return std::bit_cast<uint32_t>(weight) >> kShift; };
  bins_.assign(bin_of(1.0F) + 1, 0);
  for (const Candidate& candidate : candidates_) bins_[bin_of(candidate.weight)] += candidate.weight;
  double total = 0;
  size_t bin = bins_.size() - 1;
  while (bin > 0 && total + bins_[bin] < wanted) total += bins_[bin--];
  boundary_.clear();
  for (const Candidate& candidate : candidates_) {
    if (bin_of(candidate.weight) == bin) boundary_.push_back(candidate.weight);
  }
  std::ranges::sort(boundary_, std::greater<>());
  size_t kept = 0;
  while (kept < boundary_.size() && total < wanted) total += boundary_[kept++];
  const float least = kept > 0 ? boundary_[kept - 1] : 0;
  int64_t equal = std::count(boundary_.begin(), boundary_.begin() + static_cast<ptrdiff_t>(kept), least);
  std::erase_if(candidates_, [&](const Candidate& candidate) {
    return bin_of(candidate.weight) < bin ||
           (bin_of(candidate.weight) == bin &&
            (kept == 0 || candidate.weight < least || (candidate.weight == least && equal-- <= 0)));
  });
  return total;
}

int32_t Sampler::draw_of_few(std::span<const float> logits, float largest, const Sampling& sampling, double chance) {
  double total = collect(logits, largest, sampling);
  if (sampling.top_p < 1) total = keep_nucleus(sampling.top_p * total);
  double left = chance * total;
  for (const Candidate& candidate : candidates_) {
    left -= candidate.weight;
    if (left < 0) return candidate.token;
  }
  return candidates_.back().token;
}

LogProbs::LogProbs(std::span<const float> logits) : logits_(logits) {
  const float largest = logits[index_of_largest(logits)];
  log_sum_ = largest + std::log(sum_of_exponentials(logits, largest, 1));
}

float LogProbs::of(int32_t token) const { return static_cast<float>(logits_[token] - log_sum_); }

std::vector<TokenChance> LogProbs::most_likely(int count) const {
  std::vector<Ranked> kept = largest_of(logits_, std::min<size_t>(count, logits_.size()));
  std::ranges::sort(kept, [](const Ranked& a, const Ranked& b) { return b < a; });
  std::vector<TokenChance> chances;
  for (const Ranked& ranked : kept) chances.push_back({ranked.index, of(ranked.index)});
  return chances;
}

}  // namespace ridge::generate
