// The energy counter of a card of NVIDIA's.
#include <fmt/format.h>

#include <memory>

#include "gpu/nvml.h"
#include "hw/accelerator/watch.h"
#include "hw/energy_meter.h"
#include "hw/nvidia_card.h"

namespace ridge::hw {
namespace {

// Yang, Adamek and Armour, "Part-time power measurements" (2023, arXiv:2312.02741), found what NVML tells of power to change every
// 20 to 100 ms, depending on the generation.
constexpr double kNvmlStepSeconds = 0.1;

Result<int64_t> read_card_uj(const gpu::Nvml& nvml, int index) {
  const gpu::Reading<int64_t> energy_mj = nvml.energy_mj(index);
  if (!energy_mj) return Error{Code::kUnsupported, energy_mj.reason + "; cards before Volta count no energy"};
  return *energy_mj * 1000;
}

}  // namespace

Result<EnergyMeter> EnergyMeter::open_nvidia_card(int index) {
  RIDGE_ASSIGN(const accelerator::Facts facts, nvidia_card_facts(index));
  RIDGE_ASSIGN(gpu::Nvml opened, gpu::Nvml::open());
  auto nvml = std::make_shared<gpu::Nvml>(std::move(opened));
  RIDGE_ASSIGN(const int card, accelerator::matching_card(nvml->system().cards, facts));
  const char* whole = facts.name.find("MIG") == std::string::npos ? "" : ", of all its slices";
  EnergyCounter counter{fmt::format("NVML card {}{}", card, whole), [nvml, card] { return read_card_uj(*nvml, card); },
                        0};
  return of_counters({std::move(counter)}, kNvmlStepSeconds);
}

}  // namespace ridge::hw
