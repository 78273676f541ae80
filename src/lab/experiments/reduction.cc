// L09: a sum whose active threads are scattered over all warps, or gathered in few.
#include <fmt/format.h>

#include <numeric>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr size_t kSummed = 256;  // per block, as in kernels/reduction.cu

double sum_of_block(const Buffers& in, size_t block) {
  const auto values = std::span(in[0]).subspan(block * kSummed, kSummed);
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

std::vector<Case> reduction_cases(const Target& target) {
  if (target.family == Family::kNative) return {};  // a loop has no threads to scatter
  Case work;
  size_t count = target.small ? 8 * kSummed : 1 << 22;
  work.title = fmt::format("{} summed in blocks of {}", size_text(count), kSummed);
  work.kernels = "reduction";
  read_and_write(work, count, count / kSummed, 31);
  work.expected = {sum_of_block};
  work.tolerance = 1e-5;
  for (auto [name, kernel] : {std::pair("scattered", "sum_scattered"), std::pair("together", "sum_together")}) {
    Variant variant;
    variant.name = name;
    variant.launches = {launch_per_element(kernel, count, kSummed, {gpu::BufferNumber{0}, gpu::BufferNumber{1}})};
    work.variants.push_back(std::move(variant));
  }
  work.comparisons = {
      {"L09", 1, 0, "scattered, each of the 8 warps works in each of the 8 steps; together, 4, 2 and then 1 do"}};
  return {work};
}

}  // namespace ridge::lab::experiments
