// Why an NVIDIA card does not run at its highest clock, decoded from the management library's bits.
// Source: NVML API reference, "nvmlClocksEventReasons" (until driver 535 "nvmlClocksThrottleReasons").
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

struct Slowdown {
  SlowdownKind kind = SlowdownKind::kHarmless;
  std::string_view name;     // "power brake"
  std::string_view meaning;  // a sentence
};

// One entry per bit that is set, in the order of the bits; unknown bits give one entry.
std::vector<Slowdown> decode_slowdown(uint64_t bits);

}  // namespace ridge::gpu
