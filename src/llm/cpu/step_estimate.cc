#include "llm/cpu/step_estimate.h"

#include <algorithm>
#include <array>

namespace ridge::llm::cpu {
namespace {

// Shares of the limits, from lines of llama-90m on one machine, an Intel Xeon of two CPUs with AVX-512, OpenVINO
// 2026.4.1: BF16 read weights at 0.4 to 0.5 of the bandwidth and computed at 0.8 of the peak, INT4 at 0.29 each. FP32
// and FP16 are taken as BF16, INT8's compute as INT4's: assumed.
struct StepShares {
  engine::WeightFormat weights;
  double bandwidth;  // of reading the weights
  double compute;
};
constexpr std::array<StepShares, 5> kShares = {{
    {engine::WeightFormat::kFp32, 0.5, 0.8},
    {engine::WeightFormat::kBf16, 0.5, 0.8},
    {engine::WeightFormat::kFp16, 0.5, 0.8},
    {engine::WeightFormat::kInt8, 0.4, 0.29},
    {engine::WeightFormat::kInt4, 0.29, 0.29},
}};
// Share of the memory bandwidth: attention over the cache in 8 bits is limited by its arithmetic.
constexpr double kCacheShare = 0.13;

}  // namespace

double estimated_line_error_percent() { return 50; }

generate::StepLine estimated_line(const DecoderLimit& limit, engine::WeightFormat weights) {
  const StepShares& shares = *std::ranges::find(kShares, weights, &StepShares::weights);
  const auto compute_s = [&](const StepWork& work) { return 1e-3 * limit.bound({work.flops, 0}).compute_ms; };
  const auto memory_s = [&](double bytes) { return 1e-3 * limit.bound({0, bytes}).memory_ms; };
  StepWork token, row, cached, alone;
  limit.add(1, 0, 0, token);
  limit.add(0, 0, 1, row);
  constexpr double kTokens = 1000;
  limit.add(1, kTokens, 0, cached);
  limit.add(1, 0, 0, alone);
  constexpr double kMany = 1e12;  // bytes, beside which the caches are small
  generate::StepLine line;
  line.fixed = memory_s(limit.weights().bytes) / shares.bandwidth;
  line.per_token = compute_s(token) / shares.compute;
  line.per_row = compute_s(row) / shares.compute;
  line.per_cached = cached.bytes / kTokens * memory_s(kMany) / kMany / kCacheShare;
  line.per_pair = compute_s({(cached.flops - alone.flops) / kTokens, 0}) / shares.compute;
  return line;
}

}  // namespace ridge::llm::cpu
