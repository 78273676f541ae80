#include "power/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/proc_text.h"

namespace ridge::power {
namespace {

std::string clocks_text(const ClockRange& range) {
  return range.min_mhz == range.max_mhz ? fmt::format("{} MHz", range.max_mhz)
                                        : fmt::format("{} to {} MHz", range.min_mhz, range.max_mhz);
}

Status check_clocks(const ClockRange& range, const gpu::Reading<int64_t>& highest, const char* what,
                    const std::string& name) {
  if (range.min_mhz > range.max_mhz || range.min_mhz < 0)
    return invalid(fmt::format("{}: {} {},{}: the lower bound comes first: MIN,MAX in MHz", name, what, range.min_mhz,
                               range.max_mhz));
  if (highest && range.max_mhz > *highest)
    return invalid(fmt::format("{}: {} {}: the GPU runs at up to {} MHz; give a lower range", name, what,
                               clocks_text(range), *highest));
  return {};
}

}  // namespace

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

Json to_json(const ClockRange& range) { return Json::array({range.min_mhz, range.max_mhz}); }

Status read_json(const Json& json, ClockRange& range) {
  RIDGE_ASSIGN(const std::vector<int64_t> clocks, from_json<std::vector<int64_t>>(json));
  if (clocks.size() != 2) return invalid("expected the lowest and the highest clock");
  range = {clocks[0], clocks[1]};
  return {};
}

Status check(const Settings& settings, const State& state, const std::string& name) {
  if (settings.limit_mw) {
    if (!state.limit_min_mw || !state.limit_max_mw)
      return Error{Code::kUnsupported,
                   fmt::format("{}: its power limit cannot be set: {}", name, state.limit_max_mw.reason)};
    if (*settings.limit_mw < *state.limit_min_mw || *settings.limit_mw > *state.limit_max_mw)
      return invalid(fmt::format("{}: a limit of {} is outside its range of {} to {}", name,
                                 watts_text(*settings.limit_mw), watts_text(*state.limit_min_mw),
                                 watts_text(*state.limit_max_mw)));
  }
  if (settings.clocks) RIDGE_TRY(check_clocks(*settings.clocks, state.clock_max_mhz, "clock", name));
  if (settings.memory_clocks)
    RIDGE_TRY(check_clocks(*settings.memory_clocks, state.memory_clock_max_mhz, "memory clock", name));
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

std::string watts_text(int64_t milliwatts) {
  std::string digits = fmt::format("{:.1f}", static_cast<double>(milliwatts) / 1000);
  if (digits.ends_with(".0")) digits.resize(digits.size() - 2);
  return digits + " W";
}

std::string settings_text(const Settings& settings) {
  std::vector<std::string> parts;
  if (settings.limit_mw) parts.push_back("power limit " + watts_text(*settings.limit_mw));
  if (settings.clocks) parts.push_back("clock " + clocks_text(*settings.clocks));
  if (settings.memory_clocks) parts.push_back("memory clock " + clocks_text(*settings.memory_clocks));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string before_text(const PreviousSetting& before) {
  std::vector<std::string> parts;
  if (before.limit_mw) parts.push_back("power limit " + watts_text(*before.limit_mw));
  if (before.unlock_clocks) parts.emplace_back("clock unlocked");
  if (before.unlock_memory_clocks) parts.emplace_back("memory clock unlocked");
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace ridge::power
