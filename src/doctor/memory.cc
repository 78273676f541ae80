// Memory: free memory, swapping, errors, and bandwidth against the modules' rate.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/proc_text.h"
#include "base/units.h"
#include "doctor/areas.h"
#include "doctor/memory_modules.h"

namespace ridge::doctor {
namespace {

constexpr const char* kMemoryArea = "memory";

std::string bytes_text(double value) { return format_bytes(value); }

std::optional<double> meminfo(const machine::Tree& tree, std::string_view name) {
  std::optional<std::string> value = line_value(machine::text_at(tree, "proc/meminfo").value_or(""), name);
  if (!value) return std::nullopt;
  std::optional<int64_t> kibibytes = to_number(value->substr(0, value->find("kB")));
  if (!kibibytes) return std::nullopt;
  return 1024.0 * static_cast<double>(*kibibytes);
}

Finding judge_free(const machine::Tree& tree) {
  Finding finding = about(kMemoryArea, "free", "free memory", "/proc/meminfo");
  std::optional<double> total = meminfo(tree, "MemTotal"), available = meminfo(tree, "MemAvailable");
  if (!total || !available) return not_applicable(finding, machine::reason_at(tree, "proc/meminfo"));
  std::string evidence = fmt::format("{} of {}", bytes_text(*available), bytes_text(*total));
  if (*available < 0.1 * *total)
    return warn(finding, evidence,
                "end unneeded processes: models, arenas and the page cache of model files need room");
  return ok(finding, evidence);
}

// The tightest group: use against its limit.
Finding judge_limit(const Facts& facts) {
  Finding finding = about(kMemoryArea, "limit", "memory limit of the container", "cgroup memory.max, memory.current");
  if (!facts.machine) return not_applicable(finding, facts.machine_reason);
  std::optional<int64_t> limit = facts.machine->memory.limit_bytes;
  if (!limit) return ok(finding, "none");
  std::optional<int64_t> used;
  for (const char* name : {"/memory.current", "/memory.usage_in_bytes"})
    for (const std::string& path : machine::paths_like(facts.tree, "sys/fs/cgroup", name))
      used = std::max(used.value_or(0), machine::number_at(facts.tree, path).value_or(0));
  std::string evidence = bytes_text(static_cast<double>(*limit));
  if (used) evidence += ", " + bytes_text(static_cast<double>(*used)) + " in use (file cache included)";
  if (*limit < int64_t{512} << 20)
    return warn(finding, evidence, "raise the limit: an engine with a small model needs about half a GiB");
  return ok(finding, evidence);
}

Finding judge_killed(const machine::Tree& tree) {
  Finding finding = about(kMemoryArea, "killed", "out-of-memory kills in this container", "cgroup memory.events");
  std::vector<std::string> paths = machine::paths_like(tree, "sys/fs/cgroup", "/memory.events");
  int64_t killed = 0;
  for (const std::string& path : paths)
    killed = std::max(killed, to_number(line_value(tree.files.at(path), "oom_kill", ' ').value_or("")).value_or(0));
  if (paths.empty()) return not_applicable(finding, "the control group does not count them (version 1, or none)");
  if (killed == 0) return ok(finding, "none");
  return warn(finding, fmt::format("{} so far", killed),
              "raise the memory limit, or run fewer instances: ridge plan shows what a model needs");
}

Finding judge_swap(const machine::Tree& tree) {
  Finding finding = about(kMemoryArea, "swap", "swap in use", "/proc/meminfo");
  std::optional<double> total = meminfo(tree, "SwapTotal"), free = meminfo(tree, "SwapFree");
  if (!total || !free) return not_applicable(finding, machine::reason_at(tree, "proc/meminfo"));
  if (*total == 0) return ok(finding, "there is no swap");
  double used = *total - *free;
  std::string evidence = fmt::format("{} of {}", bytes_text(used), bytes_text(*total));
  if (used > 0.1 * *total && used > 256.0 * (1 << 20))
    return with_command(
        "sudo swapoff -a && sudo swapon -a",
        warn(finding, evidence,
             "free memory, then swapoff -a && swapon -a: a model paged in from disk is a thousand times slower"));
  return ok(finding, evidence);
}

Finding judge_corrected(const machine::Tree& tree) {
  Finding finding = about(kMemoryArea, "errors", "memory errors", "/sys/devices/system/edac");
  std::vector<std::string> uncorrected = machine::paths_like(tree, "sys/devices/system/edac/mc/", "/ue_count");
  if (uncorrected.empty())
    return not_applicable(finding, "no error counters: a virtual machine, or memory without ECC");
  int64_t bad = 0, corrected = 0;
  for (const std::string& path : uncorrected) bad += machine::number_at(tree, path).value_or(0);
  for (const std::string& path : machine::paths_like(tree, "sys/devices/system/edac/mc/", "/ce_count"))
    corrected += machine::number_at(tree, path).value_or(0);
  std::string evidence = fmt::format("{} corrected, {} uncorrected since boot", corrected, bad);
  if (bad > 0)
    return fail(finding, evidence,
                "replace the memory module that /sys/devices/system/edac/mc names: results may be wrong");
  if (corrected > 0) return warn(finding, evidence, "watch the count; replace the module if it grows");
  return ok(finding, evidence);
}

std::string platform_text(const MemoryPlatform& platform) {
  return fmt::format("{}{} × {} MT/s × 8 bytes = {} (derived)", counted(platform.channels, "channel"),
                     platform.channels_assumed ? " (one per module, assumed)" : "", platform.megatransfers_per_s,
                     format_bandwidth(platform.bytes_per_s));
}

Result<MemoryPlatform> known_platform(const machine::Tree& tree) {
  RIDGE_ASSIGN(Json json, machine::json_at(tree, entry::kMemoryModules));
  RIDGE_ASSIGN(std::vector<MemoryModule> modules, from_json<std::vector<MemoryModule>>(json));
  return platform_of(modules);
}

// A well-filled platform reads at 70 to 90 % of its channels' transfer rate; half of it indicates a problem.
Finding judge_bandwidth(const Facts& facts) {
  Finding finding =
      about(kMemoryArea, "bandwidth", "memory bandwidth", "measured: reads of all usable threads; SMBIOS");
  if (!facts.machine) return not_applicable(finding, facts.machine_reason);
  int threads = machine::usable_threads(*facts.machine);
  std::optional<machine::Bandwidth> dram = machine::bandwidth(*facts.machine, "DRAM", threads);
  Result<MemoryPlatform> platform = known_platform(facts.tree);
  if (!dram) return not_applicable(finding, "not measured: run without --no-measure");
  std::string evidence = fmt::format("{} read by {} (measured, spread {:.0f} %)", format_bandwidth(dram->bytes_per_s),
                                     counted(threads, "thread"), dram->spread_percent);
  if (!platform)
    return not_applicable(finding, evidence + "; the modules' bandwidth is unknown: " + platform.error().message);
  if (platform->bytes_per_s == 0)
    return not_applicable(finding, evidence + "; the firmware lists no speed or channels");
  double share = dram->bytes_per_s / platform->bytes_per_s;
  evidence += fmt::format(", {:.0f} % of {}", 100 * share, platform_text(*platform));
  // A few of many cores cannot use all of it, and neither should a slice of a shared machine.
  bool all_cores = threads * 2 > facts.machine->cpu.physical_cores;
  if (share < 0.5 && all_cores)
    return warn(
        finding, evidence,
        "check for modules in the wrong slots, a low memory clock in the firmware, or other work on the machine");
  return ok(finding, evidence + (all_cores ? "" : "; the few allowed cores cannot use all of it"));
}

Finding judge_channels(const machine::Tree& tree) {
  Finding finding = about(kMemoryArea, "channels", "memory channels and clock", "SMBIOS structure 17");
  Result<MemoryPlatform> platform = known_platform(tree);
  if (!platform) return not_applicable(finding, platform.error().message);
  if (platform->modules == 0) return not_applicable(finding, "the firmware lists no memory modules");
  std::string evidence = fmt::format("{} modules in {} slots, {} of {} channels filled, {} MT/s (rated {})",
                                     platform->modules, platform->slots, platform->channels, platform->channels_total,
                                     platform->megatransfers_per_s, platform->megatransfers_rated);
  if (platform->channels_assumed) return ok(finding, evidence + "; the slot names do not identify channels");
  if (platform->channels < platform->channels_total)
    return warn(finding, evidence, "install a module in every channel: bandwidth grows with filled channels");
  if (platform->megatransfers_per_s < platform->megatransfers_rated)
    return warn(finding, evidence,
                "enable the modules' rated speed in the firmware (profile XMP or EXPO; with two modules per channel "
                "it may not be possible)");
  return ok(finding, evidence);
}

}  // namespace

Findings judge_memory(const Facts& facts) {
  return {judge_free(facts.tree),      judge_limit(facts),     judge_killed(facts.tree),  judge_swap(facts.tree),
          judge_corrected(facts.tree), judge_bandwidth(facts), judge_channels(facts.tree)};
}

}  // namespace ridge::doctor
