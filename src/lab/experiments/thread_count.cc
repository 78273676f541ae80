// L33: as many threads as usable CPUs, or more.
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <memory>
#include <span>
#include <thread>

#include "base/units.h"
#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr int kStepsTogether =
    64;  // all threads wait for each other after each step, like an engine's after an operator
constexpr float kDecay = 0.75F, kGrowth = 0.125F;

// Threads started before the measurement: starting them would be a sixth of the time (16 of them, two CPUs).
class Team {
 public:
  explicit Team(int threads) : threads_(threads), together_(threads) {
    for (int number = 1; number < threads; ++number) others_.emplace_back([this, number] { serve(number); });
  }
  ~Team() {
    in_ = {};
    together_.arrive_and_wait();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Each thread works on a share of the array, step by step, and waits for the others after each step.
  void run(std::span<const float> in, std::span<float> out) {
    in_ = in;
    out_ = out;
    together_.arrive_and_wait();
    work(0);
  }

 private:
  void serve(int number) {
    while (true) {
      together_.arrive_and_wait();
      if (in_.empty()) return;
      work(number);
    }
  }
  void work(int number) {
    auto count = static_cast<int64_t>(in_.size());
    auto first = static_cast<size_t>(count * number / threads_),
         last = static_cast<size_t>(count * (number + 1) / threads_);
    std::copy(in_.begin() + static_cast<ptrdiff_t>(first), in_.begin() + static_cast<ptrdiff_t>(last),
              out_.begin() + static_cast<ptrdiff_t>(first));
    for (int step = 0; step < kStepsTogether; ++step) {
      for (size_t i = first; i < last; ++i) out_[i] = out_[i] * kDecay + kGrowth;
      together_.arrive_and_wait();
    }
  }

  const int threads_;
  std::span<const float> in_;  // empty: the end
  std::span<float> out_;
  std::barrier<> together_;
  std::vector<std::jthread> others_;  // last: they use the rest
};

}  // namespace

std::vector<Case> thread_count_cases(const Target& target) {
  if (target.family != Family::kNative) return {};  // of the CPU's threads
  const size_t count = target.small ? 256 : 64 << 10;
  const int cpus = std::max(1, target.cpus);
  Case work;
  work.title = fmt::format("{} steps over {}, all threads waiting for each other after each; {} may be used",
                           kStepsTogether, size_text(count), counted(cpus, "CPU"));
  work.parameter = "threads";
  work.fill = [count](Case& one) { one.buffers = {random_values(count, 101), std::vector<float>(count)}; };
  work.output = 1;
  work.expected = {[](const Buffers& in, size_t i) { return after_steps(in[0][i], kStepsTogether, kDecay, kGrowth); }};
  work.tolerance = 1e-5;
  work.flops = 2.0 * kStepsTogether * static_cast<double>(count);
  for (int times : {1, 2, 4, 8}) {
    Variant variant;
    variant.name = counted(times * cpus, "thread");
    variant.at = times * cpus;
    variant.native = [team = std::make_shared<Team>(times * cpus)](NativeBuffers buffers) {
      team->run(buffers[0], buffers[1]);
    };
    if (times > 1)
      work.comparisons.push_back({"L33", 0, work.variants.size(),
                                  fmt::format("{} threads share {}: at every step all wait for those that have none",
                                              times * cpus, counted(cpus, "CPU")),
                                  measure::ClaimedFigure{measure::ClaimedFigure::kGain, 1, std::nullopt}});
    work.variants.push_back(std::move(variant));
  }
  return {work};
}

}  // namespace ridge::lab::experiments
