#include "gpu/amd_metrics.h"

#include <cassert>
#include <cstring>
#include <iterator>
#include <optional>

#include "gpu/pcie.h"
#include "gpu/slowdown.h"

namespace ridge::gpu {
namespace {

constexpr uint64_t kUntold = ~uint64_t{0};
constexpr uint16_t kUntoldShort = 0xFFFF;
constexpr uint64_t kPowerBit = 1, kSocketHeatBit = uint64_t{1} << 32;  // of the independent throttle status

std::optional<uint64_t> held_between(const AmdMetrics& before, const AmdMetrics& now) {
  if (now.accumulations == kUntold || before.accumulations == kUntold) return std::nullopt;
  if (now.accumulations == before.accumulations) return std::nullopt;
  uint64_t bits = 0;
  auto look = [&](uint64_t AmdMetrics::*counter, uint64_t bit) {
    if (now.*counter != kUntold && before.*counter != kUntold && now.*counter > before.*counter) bits |= bit;
  };
  look(&AmdMetrics::held_by_signal, kHotSignal);
  look(&AmdMetrics::held_by_power, slowdown_of_amd(kPowerBit));
  look(&AmdMetrics::held_by_socket_heat, slowdown_of_amd(kSocketHeatBit));
  look(&AmdMetrics::held_by_regulator_heat, kRegulatorHeat);
  look(&AmdMetrics::held_by_memory_heat, kMemoryHeat);
  return bits;
}

}  // namespace

AmdMetrics metrics_from(const std::vector<unsigned char>& buffer) {
  assert(buffer.size() >= sizeof(AmdMetrics));
  AmdMetrics metrics;
  std::memcpy(&metrics, buffer.data(), sizeof metrics);
  return metrics;
}

Reading<int64_t> slowdown_of(const AmdMetrics& before, const AmdMetrics& now, const Error& why_not) {
  if (now.independent_throttle_status != kUntold)
    return static_cast<int64_t>(slowdown_of_amd(now.independent_throttle_status));
  if (std::optional<uint64_t> bits = held_between(before, now)) return static_cast<int64_t>(*bits);
  if (!why_not.message.empty()) return why_not;
  return Error{Code::kUnsupported, "this card, its driver or AMD's library does not tell what slows it down"};
}

Reading<std::string> performance_level_of(const Reading<int64_t>& level) {
  if (!level) return Error{Code::kUnavailable, level.reason};
  bool known = *level >= 0 && *level < static_cast<int64_t>(std::size(kPerformanceLevels));
  return std::string(known ? kPerformanceLevels[*level] : "unknown");
}

bool link_of(const AmdMetrics& metrics, int64_t& lanes, int64_t& generation) {
  if (metrics.pcie_lanes == kUntoldShort || metrics.pcie_lanes == 0 || metrics.pcie_speed == kUntoldShort) return false;
  lanes = metrics.pcie_lanes;
  // Some cards tell the generation itself instead of tenths of GT/s (amd_smi.cc of ROCm/amdsmi, amdsmi_get_pcie_info).
  generation = metrics.pcie_speed <= 6 ? metrics.pcie_speed : pcie_generation(metrics.pcie_speed * 1e8);
  return generation > 0;
}

}  // namespace ridge::gpu
