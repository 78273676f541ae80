// L33: as many threads as processors that may be used, or more.
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <thread>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab {
namespace {

// All threads wait for each other after each, as an engine's do after an operator. So many that starting the threads, up to 0.25 ms
// each on a busy machine, is little of what is compared (16 threads on 2 processors: a sixth of 64 steps).
constexpr int kStepsTogether = 256, kFewSteps = 64;
constexpr float kDecay = 0.75F, kGrowth = 0.125F;

// Each thread works on a share of the array, step by step, and waits for the others after each step.
void steps_by_threads(std::span<const float> in, std::span<float> out, int threads, int steps) {
  std::barrier together(threads);
  auto share = [&](int number) {
    auto count = static_cast<int64_t>(in.size());
    auto first = static_cast<size_t>(count * number / threads),
         last = static_cast<size_t>(count * (number + 1) / threads);
    std::copy(in.begin() + static_cast<ptrdiff_t>(first), in.begin() + static_cast<ptrdiff_t>(last),
              out.begin() + static_cast<ptrdiff_t>(first));
    for (int step = 0; step < steps; ++step) {
      for (size_t i = first; i < last; ++i) out[i] = out[i] * kDecay + kGrowth;
      together.arrive_and_wait();
    }
  };
  std::vector<std::jthread> others;
  for (int number = 1; number < threads; ++number) others.emplace_back(share, number);
  share(0);
}

}  // namespace

std::vector<Case> thread_count_cases(const Target& target) {
  if (target.family != Family::kNative) return {};  // of the processor's threads
  const size_t count = target.small ? 256 : 64 << 10;
  const int processors = std::max(1, target.processors), steps = target.small ? kFewSteps : kStepsTogether;
  Case work;
  work.title =
      fmt::format("{} steps over {}, all threads waiting for each other after each; {} processor{} may be used", steps,
                  size_text(count), processors, processors == 1 ? "" : "s");
  work.parameter = "threads";
  work.buffers = {random_values(count, 101), std::vector<float>(count)};
  work.output = 1;
  std::vector<float> expected = work.buffers[0];
  for (float& x : expected)
    for (int step = 0; step < steps; ++step) x = x * kDecay + kGrowth;
  work.expected = {std::move(expected)};
  work.tolerance = 1e-5;
  work.flops = 2.0 * steps * static_cast<double>(count);
  for (int times : {1, 2, 4, 8}) {
    Variant variant;
    variant.name = fmt::format("{} thread{}", times * processors, times * processors == 1 ? "" : "s");
    variant.at = times * processors;
    variant.native = [threads = times * processors, steps](NativeBuffers buffers) {
      steps_by_threads(buffers[0], buffers[1], threads, steps);
    };
    if (times > 1)
      work.comparisons.push_back(
          {"L33", 0, work.variants.size(),
           fmt::format("{} threads share {} processor{}: at every step all wait for those that have none",
                       times * processors, processors, processors == 1 ? "" : "s"),
           Figure{Figure::kGain, 1, std::nullopt}});
    work.variants.push_back(std::move(variant));
  }
  return {work};
}

}  // namespace ridge::lab
