// L06: the same kernel in blocks of different sizes.
#include <fmt/format.h>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr float kFactor = 1.5F, kOffset = -0.25F;
constexpr size_t kSmallestBlock = 32;

}  // namespace

std::vector<Case> block_size_cases(const Target& target) {
  if (target.family == Family::kNative) return {};  // a CPU's loop has no thread blocks
  Case work;
  size_t count = floats_beyond_caches(target);
  work.title = fmt::format("{} scaled", size_text(count));
  work.kernels = "block_size";
  work.parameter = "threads per block";
  read_and_write(work, count, count, 23);
  work.expected = {[](const Buffers& in, size_t i) { return double{in[0][i]} * kFactor + kOffset; }};
  work.tolerance = 1e-6;
  for (size_t threads : {kSmallestBlock, size_t{128}, size_t{256}, size_t{512}}) {
    if (static_cast<int64_t>(threads) > target.threads_per_block) continue;
    Variant variant;
    variant.name = fmt::format("blocks of {}", threads);
    variant.at = static_cast<double>(threads);
    variant.launches = {
        launch_per_element("scale", count, threads, {gpu::BufferNumber{0}, gpu::BufferNumber{1}, kFactor, kOffset})};
    if (threads > kSmallestBlock)
      work.comparisons.push_back({"L06", work.variants.size(), 0,
                                  fmt::format("{} blocks are started instead of {}; a multiprocessor holds 16 to 32 of "
                                              "them, so blocks of {} leave places for warps empty",
                                              count / threads, count / kSmallestBlock, kSmallestBlock)});
    work.variants.push_back(std::move(variant));
  }
  return {work};
}

}  // namespace ridge::lab::experiments
