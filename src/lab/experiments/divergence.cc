// L09: neighbours that take different branches, or the same.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr int kSteps = 64;  // as in kernels/divergence.cu

float negative_way(float x) {
  for (int step = 0; step < kSteps; ++step) x = std::fma(x, 0.75F, -0.125F) * 0.5F;
  return x;
}

float positive_way(float x) {
  for (int step = 0; step < kSteps; ++step) x = std::fma(x * x, -0.5F, 0.875F);
  return x;
}

// On the CPU the branches are short: a misprediction costs about as much as twenty additions.
void two_short_ways(std::span<const float> in, std::span<float> out) {
  for (size_t i = 0; i < in.size(); ++i) {
    float x = in[i];
    if (x < 0) {
      asm volatile("" : "+x"(x));  // prevents a branchless form
      out[i] = x * 0.5F - 1;
    } else {
      asm volatile("" : "+x"(x));
      out[i] = x * 2 + 1;
    }
  }
}

// Buffer 0: mixed signs; buffer 1: the same magnitudes with all negative ones first.
Case two_kinds_of_input(size_t count, bool at_random, float (*negative)(float), float (*positive)(float)) {
  Case work;
  work.fill = [=](Case& one) {
    std::vector<float> mixed = random_values(count, 17);
    for (float& x : mixed) x = std::abs(x) + 0.0625F;
    std::vector<float> sorted = mixed;
    std::mt19937 random(19);
    for (size_t i = 0; i < count; ++i) {
      if (at_random ? random() % 2 == 0 : i % 2 == 0) mixed[i] = -mixed[i];
      if (i < count / 2) sorted[i] = -sorted[i];
    }
    one.buffers = {mixed, sorted, std::vector<float>(count)};
  };
  work.output = 2;
  for (size_t input : {size_t{0}, size_t{1}})
    work.expected.emplace_back([=](const Buffers& in, size_t i) {
      const float x = in[input][i];
      return x < 0 ? negative(x) : positive(x);
    });
  return work;
}

Case divergent_kernels(const Target& target) {
  size_t count = target.small ? 1024 : 1 << 20;
  Case work = two_kinds_of_input(count, false, negative_way, positive_way);
  work.title = fmt::format("{} values, {} steps one way or the other", count, kSteps);
  work.kernels = "divergence";
  work.tolerance = 1e-5;
  work.flops = 3.0 * kSteps * static_cast<double>(count);
  for (size_t input : {size_t{0}, size_t{1}}) {
    Variant variant;
    variant.name = input == 0 ? "neighbours differ" : "neighbours agree";
    variant.launches = {launch_per_element("two_ways", count, 256, {gpu::BufferNumber{input}, gpu::BufferNumber{2}})};
    variant.expected = input;
    work.variants.push_back(std::move(variant));
  }
  work.comparisons = {
      {"L09", 1, 0, "where neighbours differ, a group that runs in step walks both ways and keeps half of each"}};
  return work;
}

Case divergent_loops(const Target& target) {
  size_t count = target.small ? 1024 : 1 << 20;
  Case work = two_kinds_of_input(count, true, [](float x) { return x * 0.5F - 1; }, [](float x) { return x * 2 + 1; });
  work.title = fmt::format("{} values, one branch each", count);
  work.tolerance = 1e-6;
  work.flops = 2.0 * static_cast<double>(count);
  for (size_t input : {size_t{0}, size_t{1}}) {
    Variant variant;
    variant.name = input == 0 ? "signs at random" : "signs in order";
    variant.native = [input](NativeBuffers buffers) { two_short_ways(buffers[input], buffers[2]); };
    variant.expected = input;
    work.variants.push_back(std::move(variant));
  }
  work.comparisons = {{"L09", 1, 0, "half of the branches at random are guessed wrongly, in order almost none"}};
  return work;
}

}  // namespace

std::vector<Case> divergence_cases(const Target& target) {
  return {target.family == Family::kKernels ? divergent_kernels(target) : divergent_loops(target)};
}

}  // namespace ridge::lab::experiments
