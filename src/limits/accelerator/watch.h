// Watches a GPU during a measurement: clocks, power, temperature, and the reasons for slowdowns. Samples every 20 ms in
// its own thread, which ends with the watch.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "gpu/device.h"
#include "gpu/gpu.h"
#include "limits/accelerator/device_measurement.h"
#include "limits/metric.h"

namespace ridge::limits::accelerator {

struct GpuSample {
  TimePoint at;
  gpu::Gpu gpu;
};

// Samples within the visits. Idle and deliberate settings are no slowdowns; power limits are.
GpuConditions conditions_during(std::span<const GpuSample> samples, std::span<const TimeSpan> visits);

// The management library's GPU for `facts`: by UUID, else by PCI address. The error says why there is none.
Result<int> matching_gpu(std::span<const gpu::Gpu> gpus, const gpu::DeviceFacts& facts);

// Thread-safe.
class Watch {
 public:
  using Look = std::function<gpu::Gpu()>;
  Watch(Look look, Clock& clock);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  std::vector<GpuSample> samples() const;  // until now

 private:
  void run(const Look& look);

  Clock& clock_;
  std::atomic<bool> done_ = false;
  mutable Mutex mutex_;
  std::vector<GpuSample> samples_ RIDGE_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: starts after all other members
};

struct WatchedGpu {
  std::unique_ptr<Watch> watch;  // null: unwatched
  std::string by;                // the library and the GPU, or why there is none
  std::optional<gpu::Gpu> gpu;   // the previous one
};
// By NVML, where the device is an NVIDIA GPU.
WatchedGpu watch_gpu(const gpu::DeviceFacts& facts, Clock& clock);

}  // namespace ridge::limits::accelerator
