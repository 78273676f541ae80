// The reported state of a device that draws power (a GPU, the CPU's packages), and whether a setting is allowed. Plain
// values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/figure.h"
#include "base/result.h"
#include "gpu/gpu.h"

namespace ridge::power {

struct ClockRange {
  int64_t min_mhz = 0, max_mhz = 0;
};

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
void visit_fields(auto& visit, Is<State> auto& state) {  // of the CPU
  visit("power_mw", state.power_mw, means("over a quarter of a second, by RAPL").in("mW"));
  visit("power_limit_mw", state.limit_mw, means("in force").in("mW"));
  visit("power_limit_max_mw", state.limit_max_mw, Figure().in("mW"));
  visit("energy_mj", state.energy_mj, means("counter").in("mJ"));
}
State state_of(const gpu::Gpu& gpu);

// kInvalid: outside the range that the device reports; kUnsupported: its limit cannot be set. `name` begins the error.
Status check_limit(int64_t limit_mw, const State& state, const std::string& name);
// kInvalid: the bounds are exchanged, or above the highest clock.
Status check_clocks(const ClockRange& range, const gpu::Reading<int64_t>& highest, const std::string& name);

// "300", "250.5 W" [mW]; "1200,1500", "1500" [MHz].
Result<int64_t> parse_watts(std::string_view text);
Result<ClockRange> parse_clocks(std::string_view text);

std::string watts_number(int64_t milliwatts);  // "300", "69.8"
std::string watts_text(int64_t milliwatts);    // "300 W", "69.8 W"

}  // namespace ridge::power
