#include "limits/accelerator/watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/nvml/nvml.h"
#include "gpu/slowdown.h"

namespace ridge::limits::accelerator {
namespace {

constexpr std::chrono::milliseconds kBetweenSamples(20);

class Mean {
 public:
  void add(const gpu::Reading<int64_t>& reading, double unit) {
    if (!reading) return;
    sum_ += unit * static_cast<double>(*reading);
    ++count_;
  }
  std::optional<double> value() const { return count_ == 0 ? std::nullopt : std::optional(sum_ / count_); }

 private:
  double sum_ = 0;
  int count_ = 0;
};

bool within(TimePoint at, std::span<const TimeSpan> visits) {
  return std::any_of(visits.begin(), visits.end(),
                     [&](const TimeSpan& visit) { return visit.begin <= at && at <= visit.end; });
}

void add_slowdowns(const gpu::Gpu& gpu, GpuConditions& conditions) {
  if (!gpu.slowdown_bits) return;
  const auto bits = static_cast<uint64_t>(*gpu.slowdown_bits);
  conditions.clocks_set |= gpu::clocks_are_set(bits);
  std::vector<std::string>& names = conditions.slowdowns;
  for (const gpu::Slowdown& slowdown : gpu::decode_slowdown(bits))
    if (slowdown.kind != gpu::SlowdownKind::kHarmless &&
        std::find(names.begin(), names.end(), slowdown.name) == names.end())
      names.emplace_back(slowdown.name);
}

}  // namespace

GpuConditions conditions_during(std::span<const GpuSample> samples, std::span<const TimeSpan> visits) {
  GpuConditions conditions;
  Mean clock, memory_clock, power;
  for (const GpuSample& sample : samples) {
    if (!within(sample.at, visits)) continue;
    ++conditions.samples;
    clock.add(sample.gpu.sm_clock_mhz, 1e6);
    memory_clock.add(sample.gpu.memory_clock_mhz, 1e6);
    power.add(sample.gpu.power_mw, 1e-3);
    if (sample.gpu.temperature_c)
      conditions.temperature_c =
          std::max(conditions.temperature_c.value_or(-273), static_cast<double>(*sample.gpu.temperature_c));
    add_slowdowns(sample.gpu, conditions);
  }
  conditions.clock_hz = clock.value();
  conditions.memory_clock_hz = memory_clock.value();
  conditions.power_w = power.value();
  return conditions;
}

Result<int> matching_gpu(std::span<const gpu::Gpu> gpus, const gpu::DeviceFacts& facts) {
  if (!facts.uuid.empty())
    for (const gpu::Gpu& gpu : gpus)
      if (gpu.uuid && *gpu.uuid == facts.uuid) return gpu.index;
  if (!facts.pci_address.empty())
    for (const gpu::Gpu& gpu : gpus)
      if (gpu.pci_address && *gpu.pci_address == facts.pci_address) return gpu.index;
  return Error{Code::kNotFound,
               fmt::format("none of the {} GPU(s) that it knows is {} ({}{}{})", gpus.size(), facts.device,
                           facts.pci_address, facts.uuid.empty() ? "" : ", ", facts.uuid)};
}

Watch::Watch(Look look, Clock& clock)
    : clock_(clock), thread_(clock.start([this, look = std::move(look)] { run(look); })) {}

Watch::~Watch() {
  done_ = true;
  clock_.join(thread_);
}

void Watch::run(const Look& look) {
  while (!done_) {
    GpuSample sample{clock_.now(), look()};
    {
      MutexLock lock(mutex_);
      samples_.push_back(std::move(sample));
    }
    clock_.sleep_for(kBetweenSamples);
  }
}

std::vector<GpuSample> Watch::samples() const {
  MutexLock lock(mutex_);
  return samples_;
}

WatchedGpu watch_gpu(const gpu::DeviceFacts& facts, Clock& clock) {
  WatchedGpu watched;
  if (facts.pci_address.empty() && facts.uuid.empty()) {
    watched.by = "none: the device has no address by which a management library knows it";
    return watched;
  }
  Result<gpu::nvml::Nvml> opened = gpu::nvml::Nvml::open();
  if (!opened) {
    watched.by = "none: " + opened.error().message;
    return watched;
  }
  auto nvml = std::make_shared<gpu::nvml::Nvml>(std::move(*opened));
  const gpu::GpuSystem system = nvml->system();
  Result<int> index = matching_gpu(system.gpus, facts);
  if (!index) {
    watched.by = "none: " + system.library + ": " + index.error().message;
    return watched;
  }
  watched.gpu = system.gpus[static_cast<size_t>(*index)];
  watched.by = fmt::format("{}, GPU {}", system.library, *index);
  watched.watch = std::make_unique<Watch>([nvml, index = *index] { return nvml->vitals(index); }, clock);
  return watched;
}

}  // namespace ridge::limits::accelerator
