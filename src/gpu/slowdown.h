// Why a GPU does not run at its highest clock. One coding for all vendors: NVML's bits and, above them, those of other
// vendors. Sources: NVML API reference, "nvmlClocksEventReasons" (until driver 535 "nvmlClocksThrottleReasons"); AMD:
// Linux drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h, SMU_THROTTLER_*_BIT; Intel: machine/kernel_gpus.cc.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace ridge::gpu {

enum class SlowdownKind {
  kHarmless,  // idle, or set on purpose
  kPower,     // the power limit: usual under full load, and the limit can be raised up to the GPU's maximum
  kThermal,   // too hot, the driver lowers the clock
  kHardware,  // the board itself pulls the clock down: heat, power supply, or a brake signal
};
NameTable<SlowdownKind> names_of(SlowdownKind);

// Bits of other vendors: some equal NVML's, which begin at bit 0, others are unknown to NVML.
enum SlowdownBit : uint64_t {
  kPowerLimit = 0x4,
  kHeat = 0x20,
  kPowerBrake = 0x80,
  kCurrentLimit = uint64_t{1} << 32,
  kVoltageLimit = uint64_t{1} << 33,
  kReliabilityLimit = uint64_t{1} << 34,
  kMemoryHeat = uint64_t{1} << 35,
  kRegulatorHeat = uint64_t{1} << 36,
  kHotSignal = uint64_t{1} << 37,
};

struct Slowdown {
  SlowdownKind kind = SlowdownKind::kHarmless;
  std::string_view name;     // "power brake"
  std::string_view meaning;  // a sentence
  bool slows = true;         // false: there is nothing to slow down
};
void visit_fields(auto& visit, Is<Slowdown> auto& slowdown) {
  visit("name", slowdown.name);
  visit("kind", slowdown.kind);
  visit("meaning", slowdown.meaning);
}

// One entry per set bit, in the order of the bits; unknown bits give one entry.
std::vector<Slowdown> decode_slowdown(uint64_t bits);

// True if the clocks are locked, and this limits them now.
bool clocks_are_set(uint64_t bits);

// Reads amdgpu's indep_throttle_status, the same for every AMD GPU. A bit newer than this program becomes one that
// decode_slowdown() calls "other".
uint64_t slowdown_of_amd(uint64_t independent_status);

}  // namespace ridge::gpu
