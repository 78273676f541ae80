#include "cli/power.h"

#include <fmt/format.h>

#include "cli/terminal.h"
#include "gpu/slowdown.h"
#include "power/packages.h"

namespace ridge::cli {
namespace {

using gpu::Gpu;
using Number = gpu::Reading<int64_t>;

std::string watts(const Number& milliwatts) { return milliwatts ? power::watts_text(*milliwatts) : "-"; }

std::string range_text(const Gpu& gpu) {
  if (!gpu.power_limit_min_mw || !gpu.power_limit_max_mw) return "-";
  return fmt::format("{:g} to {}", static_cast<double>(*gpu.power_limit_min_mw) / 1000, watts(gpu.power_limit_max_mw));
}

// "345 of 1980 MHz"
std::string clock_text(const Number& now, const Number& most) {
  if (!now) return "-";
  return most ? fmt::format("{} of {} MHz", *now, *most) : fmt::format("{} MHz", *now);
}

std::string heat_text(const Gpu& gpu) {
  if (!gpu.temperature_c) return "-";
  return gpu.slowdown_temperature_c ? fmt::format("{} of {} °C", *gpu.temperature_c, *gpu.slowdown_temperature_c)
                                    : fmt::format("{} °C", *gpu.temperature_c);
}

std::string energy_text(const Number& millijoules) {
  if (!millijoules) return "-";
  const double joules = static_cast<double>(*millijoules) / 1000;
  return joules < 1e4 ? fmt::format("{:.0f} J", joules) : fmt::format("{:.3g} kWh", joules / 3.6e6);
}

std::string slowed_text(const Gpu& gpu) {
  if (!gpu.slowdown_bits) return "-";
  std::string text;
  for (const gpu::Slowdown& slowdown : gpu::decode_slowdown(static_cast<uint64_t>(*gpu.slowdown_bits)))
    text += (text.empty() ? "" : ", ") + std::string(slowdown.name);
  return text.empty() ? "nothing" : text;
}

std::string gpu_name(const power::VendorsGpus& vendor, const Gpu& gpu) {
  return fmt::format("{} {}", gpu.index, gpu.name ? *gpu.name : vendor.vendor + " (does not answer)");
}

std::vector<std::string> gpu_row(const power::VendorsGpus& vendor, const Gpu& gpu) {
  return {gpu_name(vendor, gpu),
          watts(gpu.power_mw),
          watts(gpu.power_limit_mw),
          watts(gpu.power_limit_default_mw),
          range_text(gpu),
          clock_text(gpu.sm_clock_mhz, gpu.sm_clock_max_mhz),
          clock_text(gpu.memory_clock_mhz, gpu.memory_clock_max_mhz),
          heat_text(gpu),
          energy_text(gpu.energy_mj),
          slowed_text(gpu)};
}

// Notes on a row: why it is slow, what is unavailable.
std::string gpu_notes(const power::VendorsGpus& vendor, const Gpu& gpu) {
  std::string text;
  auto note = [&](const std::string& words) { text += fmt::format("{}: {}\n", gpu_name(vendor, gpu), words); };
  if (!gpu.failure.empty()) note(gpu.failure);
  if (gpu.slowdown_bits)
    for (const gpu::Slowdown& slowdown : gpu::decode_slowdown(static_cast<uint64_t>(*gpu.slowdown_bits)))
      if (slowdown.slows) note(fmt::format("slowed by {}: {}", slowdown.name, slowdown.meaning));
  if (gpu.power_limit_mw && gpu.power_limit_set_mw && *gpu.power_limit_mw < *gpu.power_limit_set_mw)
    note(fmt::format("{} was set; something else limits it to {}", watts(gpu.power_limit_set_mw),
                     watts(gpu.power_limit_mw)));
  if (gpu.failure.empty() && !gpu.power_mw) note("draw not available: " + gpu.power_mw.reason);
  if (gpu.failure.empty() && !gpu.power_limit_mw) note("limit not available: " + gpu.power_limit_mw.reason);
  return text;
}

std::string cpu_line(const power::Overview& overview) {
  if (!overview.cpu) return "CPU: power not available: " + overview.cpu.reason + "\n";
  const power::State& state = *overview.cpu;
  std::string text = fmt::format("CPU: draws {}", watts(state.power_mw));
  text += state.limit_mw ? fmt::format(", limit {}", watts(state.limit_mw)) : "";
  text += state.limit_max_mw ? fmt::format(", at most {}", watts(state.limit_max_mw)) : "";
  return text + " (RAPL, measured over 0.25 s; all packages, including other work)\n";
}

}  // namespace

std::string power_text(const power::Overview& overview) {
  std::vector<std::vector<std::string>> rows;
  std::string notes, missing, libraries;
  for (const power::VendorsGpus& vendor : overview.vendors) {
    if (!vendor.gpus.empty()) libraries += (libraries.empty() ? "" : ", ") + vendor.library;
    for (const Gpu& gpu : vendor.gpus) {
      rows.push_back(gpu_row(vendor, gpu));
      notes += gpu_notes(vendor, gpu);
    }
    if (vendor.gpus.empty()) missing += fmt::format("{}: no GPU: {}\n", vendor.vendor, vendor.reason.message);
  }
  std::string text;
  if (!rows.empty())
    text = table({"GPU", "draw", "limit", "default", "range", "clock", "memory clock", "heat", "energy", "slowed by"},
                 rows, "lrrr4r2rr3r1r5l") +
           "source: " + libraries + ": draw, clocks, temperature and energy measured by the GPU, limits as set\n";
  if (!notes.empty()) text += "\n" + notes;
  if (rows.empty()) text += missing;
  text += (text.empty() ? "" : "\n") + cpu_line(overview);
  if (!overview.anything()) text += "\nNo device here reports its power.\n";
  return text;
}

}  // namespace ridge::cli
