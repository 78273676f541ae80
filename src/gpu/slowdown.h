// Why a card does not run at its highest clock. One coding for all makers: NVML's bits (gpu/nvml/abi.h) and, above
// them, what only the others tell; the bits of AMD and Intel are translated into it, then decoded.
// Sources: NVML API reference, "nvmlClocksEventReasons" (until driver 535 "nvmlClocksThrottleReasons"); AMD: Linux
// drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h, SMU_THROTTLER_*_BIT; Intel: Level Zero specification 1.17,
// zes_freq_throttle_reason_flag_t.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ridge::gpu {

enum class SlowdownKind {
  kHarmless,  // idle, or what somebody set on purpose
  kPower,     // the power limit: usual under full load, and the limit can be raised up to the card's maximum
  kThermal,   // too hot, the driver lowers the clock
  kHardware,  // the board itself pulls the clock down: heat, power supply, or a brake signal
};

// Beside NVML's; NVML numbers its own from bit 0 up.
enum OtherSlowdownBit : uint64_t {
  kCurrentLimit = uint64_t{1} << 32,
  kVoltageLimit = uint64_t{1} << 33,
  kReliabilityLimit = uint64_t{1} << 34,
  kMemoryHeat = uint64_t{1} << 35,
  kRegulatorHeat = uint64_t{1} << 36,
  kHotSignal = uint64_t{1} << 37,
  kNarrowRange = uint64_t{1} << 38,
};

struct Slowdown {
  SlowdownKind kind = SlowdownKind::kHarmless;
  std::string_view name;     // "power brake"
  std::string_view meaning;  // a sentence
};

// One entry per bit that is set, in the order of the bits; unknown bits give one entry.
std::vector<Slowdown> decode_slowdown(uint64_t bits);

// Whether somebody fixed the clocks, and that limits them now.
bool clocks_are_set(uint64_t bits);

// From amdgpu's indep_throttle_status (the same for every AMD card), and from the throttle reasons of a Level Zero
// frequency domain. A bit that is newer than this program becomes one that decode_slowdown() calls "other".
uint64_t slowdown_of_amd(uint64_t independent_status);
uint64_t slowdown_of_level_zero(uint32_t reasons);

}  // namespace ridge::gpu
