#include "tune/language/deviation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ridge::tune::language {
namespace {

constexpr size_t kPiece =
    32;  // tokens of a step: later pieces of a window read the cache; few rows of logits at a time

// Logits of a token, and the token that follows it in the text.
using TakeRow = std::function<void(std::span<const float> logits, int32_t next)>;

Status run_window(engine::Decoder& decoder, std::span<const int32_t> window, const TakeRow& take) {
  const engine::DecoderInfo& info = decoder.info();
  std::vector<int32_t> blocks(static_cast<size_t>(info.cache.blocks_for(static_cast<int64_t>(window.size()))));
  std::iota(blocks.begin(), blocks.end(), 0);
  const auto vocabulary = static_cast<size_t>(info.vocabulary);
  for (size_t past = 0; past + 1 < window.size(); past += kPiece) {
    const std::span<const int32_t> tokens = window.subspan(past, std::min(kPiece, window.size() - past));
    const engine::StepSequence sequence = {static_cast<int64_t>(past), tokens, blocks,
                                           static_cast<int64_t>(tokens.size())};
    RIDGE_ASSIGN(const engine::Logits logits, decoder.step({&sequence, 1}));
    for (size_t i = 0; i < tokens.size() && past + i + 1 < window.size(); ++i)
      take(logits.values.subspan(i * vocabulary, vocabulary), window[past + i + 1]);
  }
  return {};
}

Status run_windows(engine::Decoder& decoder, const Windows& windows, const std::function<bool()>& interrupted,
                   const TakeRow& take) {
  int64_t blocks = 0;
  for (const std::vector<int32_t>& window : windows)
    blocks = std::max(blocks, decoder.info().cache.blocks_for(static_cast<int64_t>(window.size())));
  RIDGE_TRY(decoder.reserve(blocks));
  for (const std::vector<int32_t>& window : windows) {
    if (interrupted && interrupted()) return Error{Code::kCancelled, "interrupted"};
    RIDGE_TRY(run_window(decoder, window, take));
  }
  return {};
}

// log Σ exp(logits), without overflow.
double log_sum(std::span<const float> logits) {
  const float most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float value : logits) sum += std::exp(value - most);
  return most + std::log(sum);
}

size_t most_likely(std::span<const float> row) {
  return static_cast<size_t>(std::ranges::max_element(row) - row.begin());
}

}  // namespace

Windows windows_of(std::span<const int32_t> text, int64_t most, int64_t length) {
  const auto size = static_cast<int64_t>(text.size());
  most = std::min(most, size);
  length = std::min(length, most);
  Windows windows;
  if (length < 2) return windows;
  const int64_t count = most / length;
  for (int64_t i = 0; i < count; ++i) {
    const auto piece = text.subspan(static_cast<size_t>(i * (size / count)), static_cast<size_t>(length));
    windows.emplace_back(piece.begin(), piece.end());
  }
  return windows;
}

Result<Reference> reference_of(engine::Decoder& decoder, const Windows& windows,
                               const std::function<bool()>& interrupted) {
  Reference reference;
  double surprise = 0;
  size_t tokens = 0;
  RIDGE_TRY(run_windows(decoder, windows, interrupted, [&](std::span<const float> logits, int32_t next) {
    const double sum = log_sum(logits);
    for (const float value : logits) reference.log_probabilities.push_back(static_cast<float>(value - sum));
    surprise -= logits[static_cast<size_t>(next)] - sum;
    ++tokens;
  }));
  reference.perplexity = std::exp(surprise / static_cast<double>(tokens));
  return reference;
}

Result<Deviation> deviation_of(engine::Decoder& decoder, const Windows& windows, const Reference& reference,
                               const std::function<bool()>& interrupted) {
  size_t scored = 0;
  for (const std::vector<int32_t>& window : windows) scored += window.size() - 1;
  if (scored * static_cast<size_t>(decoder.info().vocabulary) != reference.log_probabilities.size())
    return Error{Code::kUnsupported, fmt::format("it has {} logits a token, which is not the reference's number",
                                                 decoder.info().vocabulary)};
  Deviation deviation;
  std::span<const float> rest = reference.log_probabilities;
  double surprise = 0, differences = 0, same = 0;
  RIDGE_TRY(run_windows(decoder, windows, interrupted, [&](std::span<const float> logits, int32_t next) {
    const std::span<const float> expected = rest.first(logits.size());
    rest = rest.subspan(logits.size());
    const double sum = log_sum(logits);
    double kl = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      const double difference = expected[i] - (logits[i] - sum);
      kl += std::exp(expected[i]) * difference;
      differences += std::abs(difference) / static_cast<double>(logits.size());
      deviation.logit_max = std::max(deviation.logit_max, std::abs(difference));
    }
    deviation.kl_mean += kl;
    deviation.kl_max = std::max(deviation.kl_max, kl);
    surprise -= logits[static_cast<size_t>(next)] - sum;
    same += most_likely(logits) == most_likely(expected) ? 1 : 0;
    ++deviation.tokens;
  }));
  const auto tokens = static_cast<double>(deviation.tokens);
  deviation.kl_mean = std::max(0.0, deviation.kl_mean / tokens);  // rounding may bring it below
  deviation.logit_mean = differences / tokens;
  deviation.top1 = same / tokens;
  deviation.perplexity = std::exp(surprise / tokens);
  deviation.perplexity_ratio = deviation.perplexity / reference.perplexity;
  return deviation;
}

std::string judge(const Deviation& deviation, const Bounds& bounds) {
  if (!std::isfinite(deviation.kl_mean) || !std::isfinite(deviation.perplexity)) return "its logits are not finite";
  if (deviation.kl_mean > bounds.kl)
    return fmt::format("mean KL divergence {:.3g} nats, above {:g} (--max-kl)", deviation.kl_mean, bounds.kl);
  if (deviation.perplexity_ratio > bounds.perplexity_ratio)
    return fmt::format("perplexity {:.4g} × the reference's, above {:g} (--max-perplexity)", deviation.perplexity_ratio,
                       bounds.perplexity_ratio);
  return "";
}

}  // namespace ridge::tune::language
