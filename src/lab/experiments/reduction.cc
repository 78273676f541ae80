// L09: a sum whose active threads are scattered over all warps, or gathered in few.
#include <fmt/format.h>

#include <numeric>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr size_t kSummed = 256;  // per block, as in kernels/reduction.cu

std::vector<float> sums_of_blocks(std::span<const float> in) {
  std::vector<float> sums;
  for (size_t at = 0; at < in.size(); at += kSummed) {
    auto block = in.subspan(at, kSummed);
    sums.push_back(static_cast<float>(std::accumulate(block.begin(), block.end(), 0.0)));
  }
  return sums;
}

}  // namespace

std::vector<Case> reduction_cases(const Target& target) {
  if (target.family == Family::kNative) return {};  // a loop has no threads to scatter
  Case work;
  size_t count = target.small ? 8 * kSummed : 1 << 22;
  work.title = fmt::format("{} summed in blocks of {}", size_text(count), kSummed);
  work.kernels = "reduction";
  work.buffers = {random_values(count, 31), std::vector<float>(count / kSummed)};
  work.output = 1;
  work.expected = {sums_of_blocks(work.buffers[0])};
  work.tolerance = 1e-5;
  work.bytes = static_cast<double>((count + count / kSummed) * sizeof(float));
  for (auto [name, kernel] : {std::pair("scattered", "sum_scattered"), std::pair("together", "sum_together")}) {
    Variant variant;
    variant.name = name;
    variant.launches = {launch_per_element(kernel, count, kSummed, {gpu::BufferNumber{0}, gpu::BufferNumber{1}})};
    work.variants.push_back(std::move(variant));
  }
  work.comparisons = {{"L09", 1, 0,
                       "scattered, each of the 8 warps works in each of the 8 steps; together, 4, 2 and then 1 do",
                       std::nullopt}};
  return {work};
}

}  // namespace ridge::lab::experiments
