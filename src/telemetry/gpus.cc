#include "telemetry/gpus.h"

#include <algorithm>
#include <map>

#include "base/log.h"
#include "base/mutex.h"
#include "gpu/nvml/nvml.h"
#include "gpu/slowdown.h"

namespace ridge::telemetry {
namespace {

std::optional<double> scaled(const gpu::Reading<int64_t>& reading, double divisor) {
  if (!reading) return std::nullopt;
  return static_cast<double>(*reading) / divisor;
}

// A family with one series per GPU that reports the value.
struct PerGpu {
  const char* name;
  const char* help;
  MetricType type;
  std::optional<double> GpuSample::*value;
};

// The first six: names, meaning and units as Triton's (its docs/user_guide/metrics.md).
constexpr PerGpu kGpuFamilies[] = {
    {"nv_gpu_utilization", "Share of the last second in which the GPU was busy, 0 to 1", MetricType::kGauge,
     &GpuSample::utilization},
    {"nv_gpu_memory_total_bytes", "Memory of the GPU, bytes", MetricType::kGauge, &GpuSample::memory_total_bytes},
    {"nv_gpu_memory_used_bytes", "Memory of the GPU that is in use, bytes", MetricType::kGauge,
     &GpuSample::memory_used_bytes},
    {"nv_gpu_power_usage", "Power that the GPU draws, watts", MetricType::kGauge, &GpuSample::power_w},
    {"nv_gpu_power_limit", "Power limit of the GPU in force, watts", MetricType::kGauge, &GpuSample::power_limit_w},
    {"nv_energy_consumption", "Energy used by the GPU since the server started, joules", MetricType::kCounter,
     &GpuSample::energy_j},
    {"ridge_gpu_temperature_celsius", "Temperature of the GPU, degrees Celsius", MetricType::kGauge,
     &GpuSample::temperature_c},
    {"ridge_gpu_clock_hertz", "Clock of the GPU's multiprocessors, hertz", MetricType::kGauge, &GpuSample::clock_hz},
};

Series& add_series(MetricFamily& family, const std::string& uuid, double value) {
  return family.series.emplace_back(Series{{{"gpu_uuid", uuid}}, value});
}

constexpr std::chrono::seconds kPatience(1);  // with the driver, at the end

// Samples all GPUs, and keeps the last values of a lost GPU.
class GpuReader {
 public:
  explicit GpuReader(gpu::nvml::Nvml library) : library_(std::move(library)) {}
  // `before`: the last sample. If the library no longer answers, neither do its GPUs.
  std::vector<GpuSample> look(const std::vector<GpuSample>& before) {
    std::vector<GpuSample> samples;
    Result<int> count = library_.count();
    if (!count)
      for (const GpuSample& known : before) samples.push_back(unanswered(known));
    for (int i = 0; count && i < *count; ++i) {
      gpu::Gpu gpu = library_.vitals(i);
      if (gpu.uuid) uuids_[i] = *gpu.uuid;
      if (!gpu.uuid && uuids_.contains(i)) gpu.uuid = uuids_[i];
      if (gpu.energy_mj) {
        int64_t& first = first_energy_mj_.try_emplace(i, *gpu.energy_mj).first->second;
        first = std::min(first, *gpu.energy_mj);  // the GPU was reset, and its counter restarts
      }
      samples.push_back(
          sample_of(gpu, first_energy_mj_.contains(i) ? std::optional(first_energy_mj_[i]) : std::nullopt));
    }
    return samples;
  }

 private:
  gpu::nvml::Nvml library_;
  std::map<int, std::string> uuids_;  // by index, as the following
  std::map<int, int64_t> first_energy_mj_;
};

}  // namespace

GpuSample sample_of(const gpu::Gpu& gpu, std::optional<int64_t> first_energy_mj) {
  GpuSample sample;
  sample.uuid = gpu.uuid ? *gpu.uuid : std::to_string(gpu.index);
  sample.answers = gpu.failure.empty();
  sample.utilization = scaled(gpu.utilization_percent, 100);
  sample.memory_total_bytes = scaled(gpu.memory_total_bytes, 1);
  sample.memory_used_bytes = scaled(gpu.memory_used_bytes, 1);
  sample.power_w = scaled(gpu.power_mw, 1000);
  sample.power_limit_w = scaled(gpu.power_limit_mw, 1000);
  if (gpu.energy_mj)
    sample.energy_j = static_cast<double>(*gpu.energy_mj - first_energy_mj.value_or(*gpu.energy_mj)) / 1000;
  sample.temperature_c = scaled(gpu.temperature_c, 1);
  sample.clock_hz = scaled(gpu.sm_clock_mhz, 1e-6);
  if (gpu.slowdown_bits)
    for (const gpu::Slowdown& slowdown : gpu::decode_slowdown(static_cast<uint64_t>(*gpu.slowdown_bits)))
      if (slowdown.slows) sample.slowed_by.emplace_back(slowdown.name);
  return sample;
}

std::vector<MetricFamily> gpu_families(const std::vector<GpuSample>& gpus) {
  std::vector<MetricFamily> families;
  for (const PerGpu& row : kGpuFamilies) {
    MetricFamily& family = families.emplace_back(MetricFamily{row.name, row.help, row.type});
    for (const GpuSample& gpu : gpus)
      if (gpu.*(row.value)) add_series(family, gpu.uuid, *(gpu.*(row.value)));
  }
  MetricFamily up{"ridge_gpu_up", "1: the GPU answers; 0: it is lost or needs a reset", MetricType::kGauge};
  MetricFamily slowed{"ridge_gpu_slowdown", "1 for each reason why the GPU runs below its highest clock",
                      MetricType::kGauge};
  for (const GpuSample& gpu : gpus) {
    add_series(up, gpu.uuid, gpu.answers ? 1 : 0);
    for (const std::string& reason : gpu.slowed_by)
      add_series(slowed, gpu.uuid, 1).labels.emplace_back("reason", reason);
  }
  families.push_back(std::move(up));
  families.push_back(std::move(slowed));
  return families;
}

GpuSample unanswered(const GpuSample& sample) {
  GpuSample silent;
  silent.uuid = sample.uuid;
  silent.answers = false;
  return silent;
}

struct GpuSampler::State {
  const std::chrono::milliseconds period;
  Clock& clock;
  Mutex mutex;
  std::vector<GpuSample> last RIDGE_GUARDED_BY(mutex);
  TimePoint heard RIDGE_GUARDED_BY(mutex){};  // end of the last sample

  State(std::chrono::milliseconds every, Clock& by) : period(every), clock(by) {}
  // The library is opened and queried without the lock.
  Status run(const std::stop_token& stop) {
    RIDGE_ASSIGN(gpu::nvml::Nvml library, gpu::nvml::Nvml::open());
    GpuReader reader(std::move(library));
    std::vector<GpuSample> samples;
    while (!stop.stop_requested()) {
      samples = reader.look(samples);
      {
        MutexLock lock(mutex);
        last = samples;
        heard = clock.now();
      }
      clock.sleep_until(clock.now() + period, stop);
    }
    return {};
  }
};

GpuSampler::GpuSampler(std::chrono::milliseconds period, Clock& clock)
    : shared_(std::make_shared<State>(period, clock)),
      thread_([shared = shared_](const std::stop_token& stop) { return shared->run(stop); }) {}

GpuSampler::~GpuSampler() {
  thread_.request_stop();
  if (!thread_.outcome(kPatience)) log::warning("the NVIDIA driver does not answer: its thread is abandoned");
}

std::vector<GpuSample> GpuSampler::last() const {
  MutexLock lock(shared_->mutex);
  if (shared_->clock.now() - shared_->heard <= 3 * shared_->period) return shared_->last;
  std::vector<GpuSample> silent;
  for (const GpuSample& gpu : shared_->last) silent.push_back(unanswered(gpu));
  return silent;
}

}  // namespace ridge::telemetry
