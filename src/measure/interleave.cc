#include "measure/interleave.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <random>

#include "measure/statistics.h"

namespace ridge::measure {
namespace {

// Rounds in pairs: a new random order, and its reverse.
class Orders {
 public:
  Orders(size_t arms, uint64_t seed) : order_(arms), random_(seed) { std::iota(order_.begin(), order_.end(), 0); }
  const std::vector<size_t>& next() {
    if (rounds_++ % 2 == 0)
      std::shuffle(order_.begin(), order_.end(), random_);
    else
      std::reverse(order_.begin(), order_.end());
    return order_;
  }

 private:
  std::vector<size_t> order_;
  std::mt19937_64 random_;
  int rounds_ = 0;
};

Result<std::vector<Slice>> run(const Arm& arm) {
  RIDGE_ASSIGN(std::vector<Slice> slices, arm.run());
  for (const Slice& slice : slices)
    if (!(slice.rate > 0)) return Error{Code::kFailed, "a slice completed no work; give it a longer one"};
  return slices;
}

double widest_percent(size_t arms, std::span<const Round> rounds, double confidence) {
  double widest = 0;
  for (size_t arm = 1; arm < arms; ++arm) {
    const Ratio ratio = ratio_of(log_ratios(rounds, arm), confidence);
    widest = std::max(widest, 100 * (ratio.high - ratio.low) / 2 / ratio.value);
  }
  return widest;
}

}  // namespace

InterleavedResult interleave(std::span<const Arm> arms, const InterleaveOptions& options, const Clock& clock) {
  assert(!arms.empty());
  const TimePoint begin = clock.now();
  Orders orders(arms.size(), options.seed);
  StopRule rule(options.stop);
  InterleavedResult result;
  while (result.verdict == Verdict::kContinue && !result.interrupted) {
    Round round(arms.size());
    for (size_t arm : orders.next()) {
      Result<std::vector<Slice>> slices = run(arms[arm]);
      if (!slices) {
        result.interrupted = slices.error().code == Code::kCancelled;
        if (!result.interrupted) result.failed_arm = arm;
        result.failure = slices.error();
        return result;
      }
      round[arm] = std::move(*slices);
    }
    result.rounds.push_back(std::move(round));
    result.verdict = rule.verdict(static_cast<int64_t>(result.rounds.size()), clock.now() - begin,
                                  [&] { return widest_percent(arms.size(), result.rounds, options.stop.confidence); });
    result.interrupted = result.verdict == Verdict::kContinue && options.interrupted && options.interrupted();
  }
  return result;
}

std::vector<double> log_ratios(std::span<const Round> rounds, size_t arm, size_t reference, size_t model,
                               double Slice::*member) {
  std::vector<double> logarithms;
  for (const Round& round : rounds) {
    const double own = round[arm][model].*member, other = round[reference][model].*member;
    if (own > 0 && other > 0) logarithms.push_back(std::log(own / other));
  }
  return logarithms;
}

Ratio ratio_of(std::span<const double> log_ratios, double confidence) {
  const double centre = mean(log_ratios), half = half_width(log_ratios, confidence);
  return {std::exp(centre), std::exp(centre - half), std::exp(centre + half)};
}

Comparison comparison_of(std::span<const Arm> arms, std::span<const Round> rounds, double confidence) {
  Comparison comparison;
  comparison.rounds = static_cast<int>(rounds.size());
  for (size_t arm = 0; arm < arms.size(); ++arm) {
    std::vector<double> rates;
    for (const Round& round : rounds) rates.push_back(round[arm].front().rate);
    const Ratio ratio = arm == 0 ? Ratio{} : ratio_of(log_ratios(rounds, arm), confidence);
    comparison.arm_results.push_back({arms[arm].name, median(rates), ratio});
  }
  return comparison;
}

Result<Comparison> compare(std::span<const Arm> arms, const InterleaveOptions& options, const Clock& clock) {
  const InterleavedResult interleaved = interleave(arms, options, clock);
  if (interleaved.failed_arm) return wrap(interleaved.failure, arms[*interleaved.failed_arm].name);
  if (interleaved.rounds.empty()) return Error{Code::kCancelled, "interrupted before the first round was complete"};
  Comparison comparison = comparison_of(arms, interleaved.rounds, options.stop.confidence);
  comparison.converged = interleaved.verdict == Verdict::kConverged;
  return comparison;
}

}  // namespace ridge::measure
