// The settings of a device that draws power (a GPU, the CPU's packages), its reported state, and whether a setting is allowed.
// Plain values and pure functions; an absent setting is left unchanged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "gpu/gpu.h"

namespace ridge::power {

struct ClockRange {
  int64_t min_mhz = 0, max_mhz = 0;
};
Json to_json(const ClockRange& range);  // [min, max]
Status read_json(const Json& json, ClockRange& range);

struct Settings {
  std::optional<int64_t> limit_mw;
  std::optional<ClockRange> clocks;  // of the chip
  std::optional<ClockRange> memory_clocks;
  bool any() const { return limit_mw || clocks || memory_clocks; }
};
void visit_fields(auto& visit, Is<Settings> auto& settings) {
  visit("limit_mw", settings.limit_mw);
  visit("clocks_mhz", settings.clocks);
  visit("memory_clocks_mhz", settings.memory_clocks);
}

// At one moment; each a value or the reason why there is none.
struct State {
  gpu::Reading<int64_t> power_mw;
  gpu::Reading<int64_t> limit_mw;      // in force
  gpu::Reading<int64_t> limit_set_mw;  // requested
  gpu::Reading<int64_t> limit_default_mw, limit_min_mw, limit_max_mw;
  gpu::Reading<int64_t> energy_mj;  // counter
  gpu::Reading<int64_t> temperature_c;
  gpu::Reading<int64_t> clock_mhz, clock_max_mhz, memory_clock_mhz, memory_clock_max_mhz;
  gpu::Reading<int64_t> slowdown_bits;  // gpu/slowdown.h
};
State state_of(const gpu::Gpu& gpu);

// The state to restore on a device.
struct PreviousSetting {
  std::string id;    // of the device, see power_control.h
  std::string name;  // for people
  std::optional<int64_t> limit_mw;
  bool unlock_clocks = false, unlock_memory_clocks = false;  // no library reports earlier locks
};
void visit_fields(auto& visit, Is<PreviousSetting> auto& before) {
  visit("id", before.id);
  visit.optional("name", before.name);
  visit("limit_mw", before.limit_mw);
  visit.optional("unlock_clocks", before.unlock_clocks);
  visit.optional("unlock_memory_clocks", before.unlock_memory_clocks);
}

// Of the device called `name`: whether `settings` are within its ranges. The error (kInvalid) names range and value.
Status check(const Settings& settings, const State& state, const std::string& name);

// "300", "300W", "300.5 W" → 300500; "1200,1500" or "1200" → a range; errors are kInvalid.
Result<int64_t> parse_watts(std::string_view text);
Result<ClockRange> parse_clocks(std::string_view text);

std::string watts_text(int64_t milliwatts);              // "300 W", "69.8 W"
std::string settings_text(const Settings& settings);     // "power limit 300 W, clock 1200 to 1500 MHz"
std::string before_text(const PreviousSetting& before);  // "power limit 700 W, clocks unlocked"

}  // namespace ridge::power
