#include "power/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/proc_text.h"

namespace ridge::power {
State state_of(const gpu::Gpu& gpu) {
  State state;
  state.power_mw = gpu.power_mw;
  state.limit_mw = gpu.power_limit_mw;
  state.limit_set_mw = gpu.power_limit_set_mw;
  state.limit_default_mw = gpu.power_limit_default_mw;
  state.limit_min_mw = gpu.power_limit_min_mw;
  state.limit_max_mw = gpu.power_limit_max_mw;
  state.energy_mj = gpu.energy_mj;
  state.temperature_c = gpu.temperature_c;
  state.clock_mhz = gpu.sm_clock_mhz;
  state.clock_max_mhz = gpu.sm_clock_max_mhz;
  state.memory_clock_mhz = gpu.memory_clock_mhz;
  state.memory_clock_max_mhz = gpu.memory_clock_max_mhz;
  state.slowdown_bits = gpu.slowdown_bits;
  return state;
}

Status check_limit(int64_t limit_mw, const State& state, const std::string& name) {
  if (!state.limit_min_mw || !state.limit_max_mw)
    return Error{Code::kUnsupported,
                 fmt::format("{}: its power limit cannot be set: {}", name, state.limit_max_mw.reason)};
  if (limit_mw < *state.limit_min_mw || limit_mw > *state.limit_max_mw)
    return invalid(fmt::format("{}: a limit of {} is outside its range of {} to {}", name, watts_text(limit_mw),
                               watts_text(*state.limit_min_mw), watts_text(*state.limit_max_mw)));
  return {};
}

Status check_clocks(const ClockRange& range, const gpu::Reading<int64_t>& highest, const std::string& name) {
  if (range.min_mhz > range.max_mhz)
    return invalid(fmt::format("{}: clocks {},{}: the lower bound comes first: MIN,MAX in MHz", name, range.min_mhz,
                               range.max_mhz));
  if (highest && range.max_mhz > *highest)
    return invalid(fmt::format("{}: a clock of {} MHz: it runs at up to {} MHz; give a lower range", name,
                               range.max_mhz, *highest));
  return {};
}

Result<int64_t> parse_watts(std::string_view text) {
  std::string_view number = trim(text);
  if (number.ends_with('W')) number = trim(number.substr(0, number.size() - 1));
  double watts = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), watts);
  if (problem != std::errc() || end != number.data() + number.size() || !(watts > 0) || watts > 1e6)
    return invalid(fmt::format("'{}' is not a power: expected watts, such as 300 or 300W", text));
  return static_cast<int64_t>(std::llround(watts * 1000));
}

Result<ClockRange> parse_clocks(std::string_view text) {
  const size_t comma = text.find(',');
  std::optional<int64_t> least = to_number(text.substr(0, comma));
  std::optional<int64_t> most = comma == std::string_view::npos ? least : to_number(text.substr(comma + 1));
  if (!least || !most || *least <= 0 || *most <= 0)
    return invalid(fmt::format("'{}' is not a clock range: expected MIN,MAX or one clock, in MHz", text));
  return ClockRange{*least, *most};
}

std::string watts_number(int64_t milliwatts) {
  std::string digits = fmt::format("{:.1f}", static_cast<double>(milliwatts) / 1000);
  if (digits.ends_with(".0")) digits.resize(digits.size() - 2);
  return digits;
}

std::string watts_text(int64_t milliwatts) { return watts_number(milliwatts) + " W"; }

}  // namespace ridge::power
