#include "limits/nvidia_gpu.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "gpu/cuda/cuda.h"
#include "gpu/nvml/nvml.h"
#include "limits/accelerator/store.h"
#include "limits/accelerator/utilisation.h"
#include "limits/accelerator/watch.h"

namespace ridge::limits {
namespace {

struct LocalGpu {
  gpu::DeviceFacts facts;
  std::string problem;  // why it has no figures; empty: it is in order
};

LocalGpu local_by_nvml(const gpu::Gpu& gpu) {
  LocalGpu local{{}, gpu.failure};
  local.facts.dialect = gpu::Dialect::kCuda;
  if (gpu.uuid) local.facts.uuid = *gpu.uuid;
  if (gpu.pci_address) local.facts.pci_address = *gpu.pci_address;
  if (gpu.name) local.facts.name = *gpu.name;
  if (gpu.compute_capability) local.facts.capability = *gpu.compute_capability;
  if (gpu.memory_total_bytes) local.facts.memory_bytes = *gpu.memory_total_bytes;
  return local;
}

Result<std::vector<LocalGpu>> local_gpus() {
  std::vector<LocalGpu> all;
  if (const Result<gpu::cuda::Cuda> cuda = gpu::cuda::Cuda::open()) {
    for (gpu::DeviceFacts& facts : cuda->facts())
      all.push_back({std::move(facts), cuda->devices()[all.size()].problem});
    return all;
  }
  RIDGE_ASSIGN(const gpu::nvml::Nvml nvml, gpu::nvml::Nvml::open());
  for (const gpu::Gpu& gpu : nvml.system().gpus) all.push_back(local_by_nvml(gpu));
  return all;
}

std::string names_of(const std::vector<LocalGpu>& all) {
  std::string names;
  for (const LocalGpu& gpu : all)
    names += (names.empty() ? "" : ", ") + (gpu.problem.empty() ? gpu.facts.name : gpu.problem);
  return names;
}

// The properties of GPU `index`, without the catalogue or stored figures.
Result<gpu::DeviceFacts> nvidia_gpu_facts(int index) {
  RIDGE_ASSIGN(const std::vector<LocalGpu> all, local_gpus());
  if (index < 0 || static_cast<size_t>(index) >= all.size())
    return Error{Code::kNotFound, fmt::format("there is no GPU {}; there {} {}: {}", index,
                                              all.size() == 1 ? "is" : "are", all.size(), names_of(all))};
  const LocalGpu& gpu = all[static_cast<size_t>(index)];
  if (!gpu.problem.empty()) return Error{Code::kUnavailable, gpu.problem};
  return gpu.facts;
}

// Yang, Adamek and Armour, "Part-time power measurements" (2023, arXiv:2312.02741): NVML's power value changes every 20
// to 100 ms, depending on the generation.
constexpr double kNvmlStepSeconds = 0.1;

Result<int64_t> read_gpu_uj(const gpu::nvml::Nvml& nvml, int index) {
  const gpu::Reading<int64_t> energy_mj = nvml.energy_mj(index);
  if (!energy_mj) return Error{Code::kUnsupported, energy_mj.reason + "; GPUs before Volta count no energy"};
  return *energy_mj * 1000;
}

}  // namespace

Result<NvidiaGpu> nvidia_gpu(int index, const std::string& cache_file) {
  NvidiaGpu gpu;
  gpu.index = index;
  RIDGE_ASSIGN(gpu.facts, nvidia_gpu_facts(index));
  RIDGE_ASSIGN(const std::vector<catalogue::CatalogueDevice> devices, catalogue::catalogue());
  if (Result<catalogue::CatalogueDevice> found = accelerator::datasheet_of(devices, gpu.facts))
    gpu.datasheet = std::move(*found);
  else
    gpu.datasheet_reason = found.error().message;
  accelerator::StoredLimits kept = accelerator::recall(gpu.facts, accelerator::setting_now(gpu.facts), cache_file);
  gpu.measured = std::move(kept.measured);
  gpu.measured_reason = std::move(kept.reason);
  return gpu;
}

Result<machine::EnergyMeter> open_nvidia_energy(int index) {
  RIDGE_ASSIGN(const gpu::DeviceFacts facts, nvidia_gpu_facts(index));
  RIDGE_ASSIGN(gpu::nvml::Nvml opened, gpu::nvml::Nvml::open());
  auto nvml = std::make_shared<gpu::nvml::Nvml>(std::move(opened));
  RIDGE_ASSIGN(const int gpu, accelerator::matching_gpu(nvml->system().gpus, facts));
  const char* whole = facts.name.find("MIG") == std::string::npos ? "" : ", of all its slices";
  machine::EnergyCounter counter{fmt::format("NVML GPU {}{}", gpu, whole),
                                 [nvml, gpu] { return read_gpu_uj(*nvml, gpu); }, 0};
  return machine::EnergyMeter::of_counters({std::move(counter)}, kNvmlStepSeconds);
}

}  // namespace ridge::limits
