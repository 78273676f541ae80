#include "gpu/slowdown.h"

#include "gpu/nvml_abi.h"

namespace ridge::gpu {
namespace {

struct Row {
  uint64_t bit;
  Slowdown slowdown;
};

constexpr Row kRows[] = {
    {nvml::kGpuIdle, {SlowdownKind::kHarmless, "idle", "nothing runs on the card"}},
    {nvml::kApplicationClocks, {SlowdownKind::kHarmless, "set clocks", "somebody fixed the clocks"}},
    {nvml::kSoftwarePowerCap, {SlowdownKind::kPower, "power limit", "the load reaches the card's power limit"}},
    {nvml::kHardwareSlowdown,
     {SlowdownKind::kHardware, "hardware slowdown",
      "the board cut the clocks by half or more: heat, power supply or a brake signal"}},
    {nvml::kSyncBoost,
     {SlowdownKind::kHarmless, "sync boost", "the card waits for the slowest one of its boost group"}},
    {nvml::kSoftwareThermal,
     {SlowdownKind::kThermal, "heat", "the card or its memory is above the driver's highest operating temperature"}},
    {nvml::kHardwareThermal,
     {SlowdownKind::kHardware, "heat (hardware)", "the card is so hot that the board cut the clocks by half or more"}},
    {nvml::kHardwarePowerBrake,
     {SlowdownKind::kHardware, "power brake",
      "the power supply or the server pulls the brake line: the clocks are cut by half or more"}},
    {nvml::kDisplayClock, {SlowdownKind::kHarmless, "display clock", "a display limits the clock"}},
};

}  // namespace

std::vector<Slowdown> decode_slowdown(uint64_t bits) {
  std::vector<Slowdown> result;
  for (const Row& row : kRows) {
    if ((bits & row.bit) != 0) result.push_back(row.slowdown);
    bits &= ~row.bit;
  }
  if (bits != 0) result.push_back({SlowdownKind::kHarmless, "other", "a reason that is newer than this program"});
  return result;
}

}  // namespace ridge::gpu
