// L12: many small launches, or one equivalent launch.
#include <fmt/format.h>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr int kLaunches = 16;
constexpr float kStepFactor = 0.75F, kStepOffset = 0.125F;

}  // namespace

std::vector<Case> small_launches_cases(const Target& target) {
  if (target.family == Family::kNative) return {};  // a function of this program is not launched
  Case work;
  constexpr size_t kCount = 4096;
  work.title = fmt::format("{} steps over {}", kLaunches, size_text(kCount));
  work.kernels = "small_launches";
  work.fill = [](Case& one) { one.buffers = {random_values(kCount, 29), std::vector<float>(kCount)}; };
  work.output = 1;
  work.expected = {
      [](const Buffers& in, size_t i) { return after_steps(in[0][i], kLaunches, kStepFactor, kStepOffset); }};
  work.tolerance = 1e-6;
  work.flops = 2.0 * kLaunches * kCount;
  work.time_scope = TimeScope::kWhole;  // the experiment measures the time between kernels
  Variant many, one;
  many.name = fmt::format("{} launches", kLaunches);
  many.launches = {launch_per_element("first_step", kCount, 256,
                                      {gpu::BufferNumber{0}, gpu::BufferNumber{1}, kStepFactor, kStepOffset})};
  for (int i = 1; i < kLaunches; ++i)
    many.launches.push_back(
        launch_per_element("one_step", kCount, 256, {gpu::BufferNumber{1}, kStepFactor, kStepOffset}));
  one.name = "one launch";
  one.launches = {launch_per_element(
      "all_steps", kCount, 256, {gpu::BufferNumber{0}, gpu::BufferNumber{1}, kStepFactor, kStepOffset, kLaunches})};
  work.variants = {many, one};
  work.comparisons = {
      {"L12", 1, 0, "a launch costs its overhead whatever it computes; values stay in registers between the steps"}};
  if (target.architecture > 0) {
    Variant graph = many;
    graph.name = fmt::format("{} launches as a graph", kLaunches);
    graph.recorded = true;
    work.variants.push_back(graph);
    work.comparisons.push_back(
        {"L12", 2, 0, "a graph is checked and sent to the device once; its kernels follow each other without the host",
         measure::ClaimedFigure{measure::ClaimedFigure::kGain, 1, std::nullopt}});
  }
  return {work};
}

}  // namespace ridge::lab::experiments
