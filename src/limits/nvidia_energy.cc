#include "limits/nvidia_energy.h"

#include <fmt/format.h>

#include <memory>

#include "gpu/nvml/nvml.h"
#include "limits/accelerator/watch.h"
#include "limits/nvidia_gpu.h"

namespace ridge::limits {
namespace {

// Yang, Adamek and Armour, "Part-time power measurements" (2023, arXiv:2312.02741), found what NVML tells of power to change every
// 20 to 100 ms, depending on the generation.
constexpr double kNvmlStepSeconds = 0.1;

Result<int64_t> read_gpu_uj(const gpu::nvml::Nvml& nvml, int index) {
  const gpu::Reading<int64_t> energy_mj = nvml.energy_mj(index);
  if (!energy_mj) return Error{Code::kUnsupported, energy_mj.reason + "; GPUs before Volta count no energy"};
  return *energy_mj * 1000;
}

}  // namespace

Result<machine::EnergyMeter> open_nvidia_energy(int index) {
  RIDGE_ASSIGN(const gpu::DeviceFacts facts, nvidia_gpu_facts(index));
  RIDGE_ASSIGN(gpu::nvml::Nvml opened, gpu::nvml::Nvml::open());
  auto nvml = std::make_shared<gpu::nvml::Nvml>(std::move(opened));
  RIDGE_ASSIGN(const int gpu, limits::accelerator::matching_gpu(nvml->system().gpus, facts));
  const char* whole = facts.name.find("MIG") == std::string::npos ? "" : ", of all its slices";
  machine::EnergyCounter counter{fmt::format("NVML GPU {}{}", gpu, whole),
                                 [nvml, gpu] { return read_gpu_uj(*nvml, gpu); }, 0};
  return machine::EnergyMeter::of_counters({std::move(counter)}, kNvmlStepSeconds);
}

}  // namespace ridge::limits
