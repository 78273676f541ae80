#include "limits/accelerator/counting.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace ridge::limits::accelerator {
namespace {

// A kernel in its workspace, with its output.
struct CountingRun {
  std::shared_ptr<gpu::Workspace> workspace;
  CountingKernel counting;
  gpu::BufferNumber out, cycles;
  int64_t steps = 0;  // of the last launch

  Result<Burst> run(int64_t rounds) {
    steps = rounds * counting.steps_per_round;
    gpu::Launch launch = {counting.kernel,
                          {counting.layout.blocks},
                          {counting.layout.threads},
                          {out, cycles, static_cast<int32_t>(rounds)}};
    launch.arguments.insert(launch.arguments.end(), counting.further.begin(), counting.further.end());
    RIDGE_ASSIGN(gpu::LaunchTime time, workspace->run({&launch, 1}, 1));
    Burst burst{counting.flops_per_step * static_cast<double>(steps), time.device_seconds};
    if (!counting.counts_cycles) return burst;
    float raw[2] = {};
    RIDGE_TRY(workspace->read(cycles, raw));
    burst.clock_hz = static_cast<double>(std::bit_cast<int64_t>(raw)) / time.device_seconds;
    return burst;
  }

  Status check() const {
    const auto lanes = static_cast<size_t>(counting.lanes);
    std::vector<float> got(counting.layout.blocks * counting.layout.threads * lanes);
    RIDGE_TRY(workspace->read(out, got));
    for (size_t i = 0; i < got.size(); ++i) {
      const auto thread = static_cast<int64_t>(i / lanes % counting.layout.threads);
      const double expected = counting.expected(thread, steps);
      if (!(std::abs(static_cast<double>(got[i]) - expected) <= counting.tolerance * std::abs(expected)))
        return Error{Code::kFailed,
                     fmt::format("{}: the kernel counted to {} instead of {} in {} steps (value {} of {})",
                                 counting.what, got[i], expected, steps, i, got.size())};
    }
    return {};
  }
};

Result<KernelVariant> counting_variant(const std::shared_ptr<gpu::Workspace>& workspace,
                                       const CountingKernel& counting) {
  auto state = std::make_shared<CountingRun>();
  state->workspace = workspace;
  state->counting = counting;
  const size_t floats = counting.layout.blocks * counting.layout.threads * static_cast<size_t>(counting.lanes);
  RIDGE_ASSIGN(state->out, workspace->add_bytes(floats * sizeof(float)));
  RIDGE_ASSIGN(state->cycles, workspace->add_bytes(sizeof(int64_t)));
  KernelVariant variant;
  variant.conditions =
      fmt::format("{}, {} x {} threads", counting.what, counting.layout.blocks, counting.layout.threads);
  variant.run = one_by_one([state](int64_t rounds) { return state->run(rounds); });
  variant.check = [state] { return state->check(); };
  variant.most_repeats = counting.most_steps / counting.steps_per_round;
  return variant;
}

}  // namespace

std::vector<Layout> layouts(const gpu::DeviceFacts& facts) {
  const auto units = static_cast<size_t>(std::max<int64_t>(1, facts.compute_units));
  if (gpu::runs_on_cpu(facts)) return {{1, units}, {1, 4 * units}, {8, units}};
  std::vector<Layout> result = {{256, 4 * units}, {256, 2 * units}, {128, 8 * units}};
  const auto most = static_cast<size_t>(std::max<int64_t>(1, facts.threads_per_block));
  for (Layout& layout : result) layout.threads = std::min(layout.threads, most);
  return result;
}

Status add_counting_variants(const gpu::Device& device, const std::string& source,
                             const std::function<CountingKernel(const Layout&)>& kernel_for, Metric& metric) {
  RIDGE_ASSIGN(const std::shared_ptr<gpu::Workspace> workspace, gpu::workspace_with(device, source));
  for (const Layout& layout : layouts(device.facts)) {
    RIDGE_ASSIGN(KernelVariant variant, counting_variant(workspace, kernel_for(layout)));
    metric.variants.push_back(std::move(variant));
  }
  return {};
}

}  // namespace ridge::limits::accelerator
