// How NVIDIA's GPUs fare, looked at again and again while a server runs, as the metrics that Triton made customary and a few
// of ridge's own. A slow or hanging driver delays no caller: a thread of the sampler opens and asks it, who wants to know gets the
// last answer, and the thread is left behind where it does not come back.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bounded_thread.h"
#include "base/clock.h"
#include "gpu/gpu.h"
#include "telemetry/exposition.h"

namespace ridge::telemetry {

// Absent = the GPU does not tell.
struct GpuSample {
  std::string uuid;
  bool answers = true;                // false: lost, or needs a reset
  std::optional<double> utilization;  // 0…1
  std::optional<double> memory_total_bytes, memory_used_bytes;
  std::optional<double> power_w, power_limit_w;
  std::optional<double> energy_j;  // since the first look
  std::optional<double> temperature_c, clock_hz;
  std::vector<std::string> slowed_by;  // names of gpu/slowdown.h; "idle" is none
};

// `first_energy_mj`: of the counter at the first look, absent then.
GpuSample sample_of(const gpu::Gpu& gpu, std::optional<int64_t> first_energy_mj);

// Families without a series where there is no GPU.
std::vector<MetricFamily> gpu_families(const std::vector<GpuSample>& gpus);

// What is left of a sample when the library no longer answers: whose it was.
GpuSample unanswered(const GpuSample& sample);

// Thread-safe. Without NVIDIA's library its thread ends at once.
class GpuSampler {
 public:
  // `clock` outlives its thread, too.
  explicit GpuSampler(std::chrono::milliseconds period = std::chrono::seconds(2), Clock& clock = system_clock());
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;
  ~GpuSampler();  // waits for the driver's answer, but not for long
  // Empty until the first look is done, and without GPUs. What has not been heard of for three periods is unanswered.
  std::vector<GpuSample> last() const;

 private:
  struct Shared;  // with the thread, which may outlive this
  std::shared_ptr<Shared> shared_;
  BoundedThread thread_;
};

}  // namespace ridge::telemetry
