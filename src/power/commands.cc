#include "power/commands.h"

#include <fmt/format.h>

#include "power/packages.h"
#include "power/settings.h"

namespace ridge::power {
namespace {

// Arguments of a vendor's tool: {d} the device, {w} watts, {a} and {b} the lowest and highest clock [MHz]. Empty: it
// has none. nvidia-smi(1); rocm-smi --help (ROCm/rocm_smi_lib, python_smi_tools); Intel XPU Manager, "xpu-smi config",
// which unlocks no clocks.
struct Tool {
  std::string_view vendor, limit, clocks, memory_clocks, unlock, unlock_memory;
};
constexpr Tool kTools[] = {
    {"NVIDIA", "nvidia-smi -i {d} -pl {w}", "nvidia-smi -i {d} -lgc {a},{b}", "nvidia-smi -i {d} -lmc {a},{b}",
     "nvidia-smi -i {d} -rgc", "nvidia-smi -i {d} -rmc"},
    {"AMD", "rocm-smi -d {d} --setpoweroverdrive {w} --autorespond y",
     "rocm-smi -d {d} --setsrange {a} {b} --autorespond y", "rocm-smi -d {d} --setmrange {a} {b} --autorespond y",
     "rocm-smi -d {d} --resetclocks", "rocm-smi -d {d} --resetclocks"},
    {"Intel", "xpu-smi config -d {d} --powerlimit {w}", "xpu-smi config -d {d} -t 0 --frequencyrange {a},{b}", "", "",
     ""},
};

std::string filled(std::string_view line, const std::string& device, int64_t limit_mw, const ClockRange& range) {
  return fmt::format(fmt::runtime(line), fmt::arg("d", device), fmt::arg("w", watts_number(limit_mw)),
                     fmt::arg("a", range.min_mhz), fmt::arg("b", range.max_mhz));
}

Error cannot(const std::string& name, std::string_view what) {
  return {Code::kUnsupported, fmt::format("{}: {} cannot be set by its vendor's tool", name, what)};
}

// One GPU's lines.
Status add_gpu(const Tool& tool, const gpu::Gpu& gpu, const Wanted& wanted, Commands& commands) {
  const State state = state_of(gpu);
  const std::string name = fmt::format("GPU {} ({})", gpu.index, gpu.name.value.value_or(std::string(tool.vendor)));
  const std::string device = tool.vendor == "NVIDIA" && gpu.uuid ? *gpu.uuid : std::to_string(gpu.index);
  const auto add = [&](std::vector<std::string>& lines, std::string_view line, int64_t limit_mw = 0,
                       const ClockRange& range = {}) {
    if (!line.empty()) lines.push_back("sudo " + filled(line, device, limit_mw, range));
  };
  if (!gpu.failure.empty()) return Error{Code::kUnavailable, name + ": " + gpu.failure};
  if (wanted.limit_mw) {
    RIDGE_TRY(check_limit(*wanted.limit_mw, state, name));
    add(commands.set, tool.limit, *wanted.limit_mw);
    if (state.limit_set_mw) add(commands.undone, tool.limit, *state.limit_set_mw);
  }
  if (wanted.clocks) {
    RIDGE_TRY(check_clocks(*wanted.clocks, state.clock_max_mhz, name));
    add(commands.set, tool.clocks, 0, *wanted.clocks);
    add(commands.undone, tool.unlock);
  }
  if (wanted.memory_clocks) {
    if (tool.memory_clocks.empty()) return cannot(name, "its memory's clock");
    RIDGE_TRY(check_clocks(*wanted.memory_clocks, state.memory_clock_max_mhz, name));
    add(commands.set, tool.memory_clocks, 0, *wanted.memory_clocks);
    add(commands.undone, tool.unlock_memory);
  }
  if (!wanted.reset) return {};
  if (!state.limit_default_mw && tool.unlock.empty()) return cannot(name, "a default that it does not report");
  if (state.limit_default_mw) add(commands.set, tool.limit, *state.limit_default_mw);
  add(commands.set, tool.unlock);
  if (tool.unlock_memory != tool.unlock) add(commands.set, tool.unlock_memory);
  return {};
}

// Every package gets an equal part.
std::string rapl_line(int64_t limit_mw, size_t packages) {
  return fmt::format(
      "for f in /sys/class/powercap/intel-rapl:?/constraint_0_power_limit_uw; do echo {} | sudo tee $f; done",
      limit_mw * 1000 / static_cast<int64_t>(packages));
}

Status add_cpu(const Overview& overview, const Wanted& wanted, Commands& commands) {
  if (wanted.clocks || wanted.memory_clocks)
    return Error{Code::kUnsupported, "RAPL limits power, not clocks: cpupower frequency-set does that for a CPU"};
  if (!overview.cpu) return Error{Code::kNotFound, overview.cpu.reason};
  if (!overview.cpu->limit_mw) return Error{Code::kNotFound, overview.cpu->limit_mw.reason};
  const int64_t limit_mw = wanted.limit_mw.value_or(overview.cpu->limit_default_mw.value.value_or(0));
  RIDGE_TRY(check_limit(limit_mw, *overview.cpu, "CPU"));
  commands.set.push_back(rapl_line(limit_mw, overview.packages));
  commands.undone.push_back(rapl_line(*overview.cpu->limit_mw, overview.packages));
  return {};
}

// A unit runs as root and knows no shell: systemd.service(5), "Command lines"; % begins a specifier, $ a variable.
std::string unit_line(const char* key, std::string line) {
  for (size_t at = 0; (at = line.find("sudo ", at)) != std::string::npos;) line.erase(at, 5);
  if (!line.starts_with("for ")) return fmt::format("{}={}\n", key, line);
  for (size_t at = 0; (at = line.find('$', at)) != std::string::npos; at += 2) line.insert(at, "$");
  return fmt::format("{}=/bin/sh -c '{}'\n", key, line);
}

std::string unit_of(const Commands& commands) {
  std::string text =
      "[Unit]\n"
      "Description=Power limits and clocks\n"
      "After=nvidia-persistenced.service\n"
      "\n"
      "[Service]\n"
      "Type=oneshot\n"
      "RemainAfterExit=yes\n";
  for (const std::string& line : commands.set) text += unit_line("ExecStart", line);
  for (const std::string& line : commands.undone) text += unit_line("ExecStop", line);
  return text +
         "\n"
         "[Install]\n"
         "WantedBy=multi-user.target\n";
}

}  // namespace

Result<Commands> commands_for(const Overview& overview, const Wanted& wanted) {
  Commands commands;
  if (wanted.cpu) {
    RIDGE_TRY(add_cpu(overview, wanted, commands));
  } else {
    for (const VendorsGpus& vendor : overview.vendors)
      for (const Tool& tool : kTools)
        if (tool.vendor == vendor.vendor)
          for (const gpu::Gpu& gpu : vendor.gpus) RIDGE_TRY(add_gpu(tool, gpu, wanted, commands));
    if (commands.set.empty())
      return Error{Code::kNotFound, "no GPU here whose limit could be set; --device cpu names the CPU"};
  }
  commands.unit = unit_of(commands);
  return commands;
}

}  // namespace ridge::power
