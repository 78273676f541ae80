#include "gpu/slowdown.h"

#include <cstddef>

#include "gpu/nvml/abi.h"

namespace ridge::gpu {
namespace {

constexpr std::pair<SlowdownKind, std::string_view> kSlowdownKinds[] = {{SlowdownKind::kHarmless, "harmless"},
                                                                        {SlowdownKind::kPower, "power"},
                                                                        {SlowdownKind::kThermal, "thermal"},
                                                                        {SlowdownKind::kHardware, "hardware"}};

struct Row {
  uint64_t bit;
  Slowdown slowdown;
};

constexpr Row kRows[] = {
    {nvml::kGpuIdle, {SlowdownKind::kHarmless, "idle", "nothing runs on the GPU", false}},
    {nvml::kApplicationClocks, {SlowdownKind::kHarmless, "set clocks", "the clocks are locked"}},
    {nvml::kSoftwarePowerCap, {SlowdownKind::kPower, "power limit", "the load reaches the GPU's power limit"}},
    {nvml::kHardwareSlowdown,
     {SlowdownKind::kHardware, "hardware slowdown",
      "the board cut the clocks by half or more: heat, power supply or a brake signal"}},
    {nvml::kSyncBoost, {SlowdownKind::kHarmless, "sync boost", "the GPU waits for the slowest one of its boost group"}},
    {nvml::kSoftwareThermal,
     {SlowdownKind::kThermal, "heat", "the GPU or its memory is above the driver's highest operating temperature"}},
    {nvml::kHardwareThermal,
     {SlowdownKind::kHardware, "heat (hardware)", "the board cut the clocks by half or more because of heat"}},
    {nvml::kHardwarePowerBrake,
     {SlowdownKind::kHardware, "power brake",
      "the power supply or the server pulls the brake line: the clocks are cut by half or more"}},
    {nvml::kDisplayClock, {SlowdownKind::kHarmless, "display clock", "a display limits the clock"}},
    {kCurrentLimit, {SlowdownKind::kPower, "current limit", "the load reaches the highest current of the GPU"}},
    {kVoltageLimit, {SlowdownKind::kPower, "voltage limit", "the load reaches the highest voltage of the GPU"}},
    {kReliabilityLimit, {SlowdownKind::kPower, "reliability limit", "the clock is capped for reliability"}},
    {kMemoryHeat, {SlowdownKind::kThermal, "heat (memory)", "the memory is above its highest operating temperature"}},
    {kRegulatorHeat,
     {SlowdownKind::kThermal, "heat (voltage regulator)", "a voltage regulator is above its highest temperature"}},
    {kHotSignal,
     {SlowdownKind::kHardware, "hot signal", "the board or a voltage regulator signals that it is too hot"}},
};

static_assert(uint64_t{kPowerLimit} == nvml::kSoftwarePowerCap && uint64_t{kHeat} == nvml::kSoftwareThermal &&
              uint64_t{kPowerBrake} == nvml::kHardwarePowerBrake);

constexpr uint64_t kUnknownSlowdown = uint64_t{1} << 63;

struct Translation {
  uint64_t foreign;  // AMD's bits
  uint64_t ours;
};

constexpr uint64_t bits(int first, int last) {
  uint64_t set = 0;
  for (int bit = first; bit <= last; ++bit) set |= uint64_t{1} << bit;
  return set;
}

// PPT 0 to 3, SPL, FPPT and SPPT are limits of package power; TDC and EDC of lasting and of peak current, APCC of peak
// current; VRHOT and PROCHOT are the board's signals; FIT limits failures in time, PPM is the platform's power manager.
constexpr Translation kAmd[] = {
    {bits(0, 7), nvml::kSoftwarePowerCap},
    {bits(16, 23), kCurrentLimit},
    {bits(32, 33) | bits(35, 37) | bits(42, 43), nvml::kSoftwareThermal},
    {bits(34, 34), kMemoryHeat},
    {bits(38, 41), kRegulatorHeat},
    {bits(44, 47), kHotSignal},
    {bits(56, 56), nvml::kSoftwarePowerCap},
    {bits(57, 57), kReliabilityLimit},
};

}  // namespace

bool clocks_are_set(uint64_t bits) { return (bits & nvml::kApplicationClocks) != 0; }

NameTable<SlowdownKind> names_of(SlowdownKind) { return kSlowdownKinds; }

std::vector<Slowdown> decode_slowdown(uint64_t bits) {
  std::vector<Slowdown> result;
  for (const Row& row : kRows) {
    if ((bits & row.bit) != 0) result.push_back(row.slowdown);
    bits &= ~row.bit;
  }
  if (bits != 0) result.push_back({SlowdownKind::kHarmless, "other", "a reason newer than this program"});
  return result;
}

uint64_t slowdown_of_amd(uint64_t independent_status) {
  uint64_t result = 0;
  for (const Translation& row : kAmd) {
    if ((independent_status & row.foreign) != 0) result |= row.ours;
    independent_status &= ~row.foreign;
  }
  return independent_status == 0 ? result : result | kUnknownSlowdown;
}

}  // namespace ridge::gpu
