// Load of the machine and of this process, read from /proc on request. For GPUs see gpus.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "telemetry/exposition.h"

namespace ridge::telemetry {

// Time since the machine started, in kernel ticks: only shares are meaningful.
struct CpuTimes {
  uint64_t busy = 0;
  uint64_t total = 0;
};

struct Memory {
  uint64_t total_bytes = 0;
  uint64_t available_bytes = 0;  // available without swapping
};

// Absent = not reported by this system.
struct HostSample {
  std::optional<double> cpu_utilization;  // 0…1 of all CPUs, since the previous sample (or since boot)
  std::optional<Memory> memory;
  std::optional<uint64_t> resident_bytes;  // of this process
  double started_s = 0;                    // when the sampler was made [s since 1970]
};

// Parse /proc/stat, /proc/meminfo and /proc/self/statm (Linux, proc(5)); nullopt = not in that format.
std::optional<CpuTimes> parse_cpu_times(std::string_view proc_stat);
std::optional<Memory> parse_memory(std::string_view proc_meminfo);
std::optional<uint64_t> parse_resident_pages(std::string_view proc_self_statm);

// Share of busy time between two moments, 0 if no time has passed.
double utilization(const CpuTimes& before, const CpuTimes& now);

// A gauge for each present value.
std::vector<MetricFamily> host_families(const HostSample& host);

// Remembers the previous sample. Thread-safe.
class HostSampler {
 public:
  HostSampler();
  HostSample sample();

 private:
  const double started_s_;
  Mutex mutex_;
  CpuTimes before_ RIDGE_GUARDED_BY(mutex_);
};

}  // namespace ridge::telemetry
