// The processes that use a GPU, from what the kernel's DRM drivers write to /proc/PID/fdinfo/N. Pure.
// Source: Linux 6.16, Documentation/gpu/drm-usage-stats.rst.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/gpu.h"

namespace ridge::machine {

// One open DRM file; several descriptors may share it.
struct DrmClient {
  struct Engine {
    uint64_t busy_ns = 0;
    uint64_t cycles = 0, total_cycles = 0;  // instead of the time: xe
    int64_t capacity = 1;                   // identical engines behind this name
  };
  std::string pci_address, id;
  int64_t process = 0;
  int64_t memory_bytes = 0;  // of the GPU's own memory
  std::map<std::string, Engine> engines;
};

// Reads {"proc/PID/fdinfo/N": text}; each client counts once.
std::vector<DrmClient> drm_clients(const std::map<std::string, std::string>& files);

// Sums the clients of one GPU by process.
std::vector<gpu::GpuProcess> processes_of(const std::vector<DrmClient>& clients, const std::string& pci_address);

// The share of the time between two samples that a GPU's busiest kind of engine worked, 0 to 100.
int64_t engine_percent(const std::vector<DrmClient>& before, const std::vector<DrmClient>& after,
                       const std::string& pci_address, uint64_t elapsed_ns);

}  // namespace ridge::machine
