// The CPU: its clock, other users, this process's share.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/json.h"
#include "base/proc_text.h"
#include "base/units.h"
#include "doctor/areas.h"
#include "machine/topology.h"

namespace ridge::doctor {
namespace {

constexpr const char* kCpuArea = "cpu";
constexpr const char* kCpus = "sys/devices/system/cpu/";
// Above this share of time lost to a quota or to other machines, latencies suffer.
constexpr double kMostLost = 0.02;

// Number of CPUs per value: {"powersave": 8}.
std::map<std::string, int> said(const machine::Tree& tree, std::string_view file) {
  std::map<std::string, int> counts;
  for (const std::string& path : machine::paths_like(tree, std::string(kCpus) + "cpu", file))
    ++counts[*machine::text_at(tree, path)];
  return counts;
}

std::string counts_text(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [word, count] : counts)
    text += fmt::format("{}'{}' on {}", text.empty() ? "" : ", ", word, counted(count, "CPU"));
  return text;
}

Finding judge_governor(const machine::Tree& tree) {
  Finding finding =
      about(kCpuArea, "governor", "clock governor", "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
  std::map<std::string, int> governors = said(tree, "/cpufreq/scaling_governor");
  if (governors.empty())
    return not_applicable(finding, "no clock control visible: a virtual machine, or the firmware controls the clock");
  std::map<std::string, int> drivers = said(tree, "/cpufreq/scaling_driver");
  std::map<std::string, int> preferences = said(tree, "/cpufreq/energy_performance_preference");
  std::string evidence = counts_text(governors);
  if (!drivers.empty()) evidence += ", driver " + drivers.begin()->first;
  if (!preferences.empty()) evidence += ", preference " + counts_text(preferences);
  const std::string remedy =
      "cpupower frequency-set -g performance (as root), so that the clock does not lag behind the load";
  const char* command = "sudo cpupower frequency-set -g performance";
  bool performance = governors.size() == 1 && governors.begin()->first == "performance";
  if (performance || (preferences.size() == 1 && preferences.begin()->first == "performance"))
    return ok(finding, evidence);
  // For drivers that choose the clock themselves, "powersave" means "on demand"; elsewhere it is the lowest clock.
  bool chooses_itself = !preferences.empty() || drivers.contains("intel_pstate") || drivers.contains("amd-pstate-epp");
  if (governors.contains("powersave") && !chooses_itself)
    return with_command(command, fail(finding, evidence + ": the clock stays at its lowest", remedy));
  return with_command(command, warn(finding, evidence, remedy));
}

Finding judge_clock_limit(const machine::Tree& tree) {
  Finding finding = about(kCpuArea, "clock_limit", "highest clock allowed", "/sys/devices/system/cpu/cpu*/cpufreq");
  int64_t most = 0, allowed = 0;
  for (const std::string& path : machine::paths_like(tree, std::string(kCpus) + "cpu", "/cpufreq/cpuinfo_max_freq")) {
    std::string folder = path.substr(0, path.rfind('/'));
    most = std::max(most, machine::number_at(tree, path).value_or(0));
    allowed = std::max(allowed, machine::number_at(tree, folder + "/scaling_max_freq").value_or(0));
  }
  std::optional<int64_t> no_turbo = machine::number_at(tree, std::string(kCpus) + "intel_pstate/no_turbo");
  std::optional<int64_t> boost = machine::number_at(tree, std::string(kCpus) + "cpufreq/boost");
  if (no_turbo == 1 || boost == 0)
    return with_command(
        no_turbo == 1 ? "echo 0 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
                      : "echo 1 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
        warn(finding, "turbo is switched off",
             no_turbo == 1 ? "echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo, if heat and power allow it"
                           : "echo 1 > /sys/devices/system/cpu/cpufreq/boost, if heat and power allow it"));
  if (most == 0 || allowed == 0) return not_applicable(finding, "no clock control visible");
  std::string evidence =
      fmt::format("{:.2f} of {:.2f} GHz", static_cast<double>(allowed) / 1e6, static_cast<double>(most) / 1e6);
  if (static_cast<double>(allowed) < 0.95 * static_cast<double>(most))
    return warn(finding, evidence + " allowed", "cpupower frequency-set -u with the CPU's highest clock");
  return ok(finding, evidence);
}

Finding judge_heat(const machine::Tree& tree) {
  Finding finding = about(kCpuArea, "heat", "slowed by heat", "/sys/devices/system/cpu/cpu*/thermal_throttle");
  std::vector<std::string> paths = machine::paths_like(tree, std::string(kCpus) + "cpu", "_throttle_count");
  if (paths.empty()) return not_applicable(finding, "not reported by this CPU");
  int64_t most = 0;
  for (const std::string& path : paths) most = std::max(most, machine::number_at(tree, path).value_or(0));
  if (most == 0) return ok(finding, "never since boot");
  return warn(finding, fmt::format("up to {} times on a core since boot", most),
              "check fans, dust and the inlet air; measure again when the count no longer grows");
}

Finding judge_smt(const machine::Tree& tree, const machine::Machine* machine) {
  Finding finding = about(kCpuArea, "smt", "threads per core", "/sys/devices/system/cpu/smt, topology");
  if (machine == nullptr || machine->cpu.allowed_cores == 0)
    return not_applicable(finding, "the topology is not known");
  const machine::Cpu& cpu = machine->cpu;
  std::string evidence = fmt::format("{} of {} CPUs allowed, on {} of {} cores", cpu.allowed_cpus, cpu.logical_cpus,
                                     cpu.allowed_cores, cpu.physical_cores);
  bool shared = cpu.allowed_cpus > cpu.allowed_cores;
  std::string control = machine::text_at(tree, std::string(kCpus) + "smt/control").value_or("");
  if (shared)
    return ok(finding, evidence + ": ridge computes with one thread per core; configure other programs likewise");
  return ok(finding, evidence + (control == "notsupported" ? ": SMT off or hidden" : ""));
}

// The most throttled group: {share of periods, throttled, periods}.
struct Throttling {
  double share = 0;
  int64_t throttled = 0, periods = 0;
};
std::optional<Throttling> throttling(const machine::Tree& tree) {
  std::optional<Throttling> worst;
  for (const std::string& path : machine::paths_like(tree, "sys/fs/cgroup", "/cpu.stat")) {
    const std::string& text = tree.files.at(path);
    auto value = [&](std::string_view name) { return to_number(line_value(text, name, ' ').value_or("")); };
    std::optional<int64_t> periods = value("nr_periods"), throttled = value("nr_throttled");
    if (!periods || !throttled || *periods == 0) continue;
    Throttling here{static_cast<double>(*throttled) / static_cast<double>(*periods), *throttled, *periods};
    if (!worst || here.share > worst->share) worst = here;
  }
  return worst;
}

Finding judge_quota(const machine::Tree& tree, const machine::Machine* machine) {
  Finding finding = about(kCpuArea, "quota", "CPU quota of the container", "cgroup cpu.max, cpu.stat");
  if (machine == nullptr) return not_applicable(finding, "the machine could not be probed");
  std::optional<Throttling> stopped = throttling(tree);
  std::string evidence =
      machine->cpu.quota ? fmt::format("{:.3g} of {} CPUs", *machine->cpu.quota, machine->cpu.allowed_cpus) : "none";
  if (stopped) evidence += fmt::format("; throttled in {} of {} periods", stopped->throttled, stopped->periods);
  if (stopped && stopped->share > kMostLost)
    return warn(
        finding, evidence + fmt::format(" ({:.0f} %)", 100 * stopped->share),
        fmt::format("raise the quota or run at most {} threads in it: a group that has used its quota is stopped "
                    "until the next period",
                    machine::usable_threads(*machine)));
  if (machine->cpu.quota && *machine->cpu.quota < 1)
    return warn(finding, evidence, "give at least one whole CPU: below that every run is interrupted");
  return ok(finding, evidence);
}

// Thread counts for numeric libraries in the environment, against the usable CPUs.
Finding judge_thread_variables(const machine::Tree& tree, const machine::Machine* machine) {
  Finding finding = about(kCpuArea, "threads", "thread counts in the environment", "environment");
  std::string environment = machine::text_at(tree, entry::kEnvironment).value_or("");
  std::string found, too_many;
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    std::optional<std::string> value = line_value(environment, name, '=');
    if (!value) continue;
    std::string shown = fmt::format("{}={}", name, *value);
    found += (found.empty() ? "" : ", ") + shown;
    if (machine && to_number(*value).value_or(0) > usable_threads(*machine))
      too_many += (too_many.empty() ? "" : ", ") + shown;
  }
  if (!too_many.empty())
    return warn(finding, fmt::format("{} where {} can run", too_many, machine::usable_threads(*machine)),
                "unset it or set it to the number of cores that this process may use");
  return ok(finding, found.empty() ? "none set" : found);
}

Finding judge_numa(const machine::Tree& tree, const machine::Machine* machine) {
  Finding finding = about(kCpuArea, "numa", "memory nodes", "/sys/devices/system/node");
  if (machine == nullptr || machine->cpu.numa.size() < 2) return ok(finding, "one node: all memory is local");
  int64_t least = machine->cpu.numa.front().memory_bytes, most = least;
  int used = 0;
  std::string empty;
  for (const machine::NumaNode& node : machine->cpu.numa) {
    least = std::min(least, node.memory_bytes);
    most = std::max(most, node.memory_bytes);
    used += node.cpus > 0 ? 1 : 0;
    if (node.memory_bytes == 0 && node.cpus > 0) empty += (empty.empty() ? "" : ", ") + std::to_string(node.id);
  }
  std::string evidence = fmt::format("{} nodes, CPUs of {} allowed", machine->cpu.numa.size(), used);
  if (!empty.empty())
    return fail(finding, evidence + ", no memory at node " + empty,
                "install memory modules at every CPU socket: without them all reads cross to another socket");
  if (least > 0 && static_cast<double>(most) > 1.2 * static_cast<double>(least))
    return warn(finding,
                evidence + fmt::format(", memory {} to {}", format_bytes(static_cast<double>(least)),
                                       format_bytes(static_cast<double>(most))),
                "install the same memory modules at every node");
  if (used > 1)
    return ok(
        finding,
        evidence + ": run one instance per node (numactl --cpunodebind=N --membind=N) for the best bandwidth" +
            (machine::number_at(tree, "proc/sys/kernel/numa_balancing").value_or(0) > 0 ? "; balancing is on" : ""));
  return ok(finding, evidence);
}

Finding judge_transparent_pages(const machine::Tree& tree) {
  Finding finding = about(kCpuArea, "transparent_huge_pages", "transparent huge pages",
                          "/sys/kernel/mm/transparent_hugepage/enabled");
  std::optional<std::string> text = machine::text_at(tree, "sys/kernel/mm/transparent_hugepage/enabled");
  if (!text) return not_applicable(finding, "not available in this kernel");
  if (text->find("[never]") != std::string::npos)
    return with_command(
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        warn(finding, "never",
             "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled: small pages cost address look-ups"));
  return ok(finding,
            text->find("[always]") != std::string::npos ? "always" : "madvise: for programs that request them");
}

Finding judge_huge_pages(const machine::Tree& tree, const machine::Machine* machine) {
  Finding finding = about(kCpuArea, "huge_pages", "reserved huge pages", "/sys/kernel/mm/hugepages");
  double reserved = 0, unused = 0;
  for (const std::string& size : machine::children(tree, "sys/kernel/mm/hugepages")) {
    std::string folder = "sys/kernel/mm/hugepages/" + size;
    size_t dash = size.find('-');
    double bytes = 1024 * static_cast<double>(to_number(size.substr(dash + 1, size.find("kB") - dash - 1)).value_or(0));
    reserved += bytes * static_cast<double>(machine::number_at(tree, folder + "/nr_hugepages").value_or(0));
    unused += bytes * static_cast<double>(machine::number_at(tree, folder + "/free_hugepages").value_or(0));
  }
  std::string evidence = fmt::format("{} reserved, {} unused", format_bytes(reserved), format_bytes(unused));
  if (machine && unused > 0.1 * static_cast<double>(machine->memory.total_bytes) && unused > 0)
    return with_command(
        "sudo sysctl vm.nr_hugepages=0",
        warn(finding, evidence,
             "sysctl vm.nr_hugepages=0, unless a program that needs them is about to start: no other program can use "
             "this memory"));
  return ok(finding, reserved == 0 ? "none" : evidence);
}

Finding judge_isa(const machine::Machine* machine) {
  Finding finding = about(kCpuArea, "isa", "vector instructions", "CPUID");
  if (machine == nullptr || machine->cpu.isa.empty())
    return not_applicable(finding, "the instruction sets are not known");
  auto has = [&](std::string_view name) {
    return std::find(machine->cpu.isa.begin(), machine->cpu.isa.end(), name) != machine->cpu.isa.end();
  };
  std::string evidence = fmt::format("{}: {}", machine->cpu.model, fmt::join(machine->cpu.isa, " "));
  bool x86 = has("sse4.2") || has("sse4_2") || has("avx");
  if (x86 && !has("avx2"))
    return warn(finding, evidence, "no AVX2: in a virtual machine, expose the host's CPU (for example -cpu host)");
  return ok(finding, evidence);
}

// Microcode against "Downfall" slows down vector gathers; the other mitigations hardly affect computing.
Finding judge_mitigations(const machine::Tree& tree) {
  Finding finding =
      about(kCpuArea, "mitigations", "mitigations that slow vector code", "/sys/devices/system/cpu/vulnerabilities");
  std::optional<std::string> gather =
      machine::text_at(tree, std::string(kCpus) + "vulnerabilities/gather_data_sampling");
  if (!gather) return not_applicable(finding, "this kernel does not report gather_data_sampling");
  if (gather->find("Mitigation") != std::string::npos)
    return ok(finding, "gather_data_sampling: " + *gather + "; gathers (embeddings, look-ups) are slowed");
  return ok(finding, "gather_data_sampling: " + *gather);
}

// The first line of /proc/stat: user nice system idle iowait irq softirq steal …
Finding judge_steal(const machine::Tree& tree) {
  Finding finding = about(kCpuArea, "steal", "time taken by the host", "/proc/stat, since boot");
  std::istringstream words(machine::text_at(tree, "proc/stat").value_or(""));
  std::string name;
  words >> name;
  double busy_and_idle = 0, steal = 0, value = 0;
  for (int i = 0; i < 8 && words >> value; ++i) {
    busy_and_idle += value;
    if (i == 7) steal = value;
  }
  if (name != "cpu" || busy_and_idle == 0) return not_applicable(finding, machine::reason_at(tree, "proc/stat"));
  double share = steal / busy_and_idle;
  std::string evidence = fmt::format("{:.2f} % of all time", 100 * share);
  if (share > kMostLost)
    return warn(finding, evidence, "the host gives these CPUs to other machines: choose a dedicated or larger type");
  return ok(finding, evidence);
}

// Other processes' work while the doctor looked; absent on machines recorded without it, and if it cannot be read.
std::optional<machine::Disturbance> others_of(const machine::Tree& tree) {
  if (!tree.files.contains(entry::kOthers)) return std::nullopt;
  const Result<Json> json = machine::json_at(tree, entry::kOthers);
  if (!json) return std::nullopt;
  const Result<machine::Disturbance> others = from_json<machine::Disturbance>(*json);
  return others && others->seconds > 0 ? std::optional(*others) : std::nullopt;
}

// "cc1plus 1.4, python3 0.3"
std::string busiest_text(const machine::Disturbance& others) {
  std::string text;
  for (const machine::BusyProcess& process : others.others)
    text += fmt::format("{}{} {:.2g}", text.empty() ? "" : ", ", process.name, process.cpus);
  return text;
}

Finding judge_load(const machine::Tree& tree, const machine::Machine* machine) {
  Finding finding = about(kCpuArea, "load", "other work right now", "/proc/loadavg, /proc/PID/stat");
  std::istringstream words(machine::text_at(tree, "proc/loadavg").value_or(""));
  double load = 0;
  if (!(words >> load) || machine == nullptr) return not_applicable(finding, machine::reason_at(tree, "proc/loadavg"));
  std::string evidence =
      fmt::format("{:.2f} running on average over a minute, {} CPUs", load, machine->cpu.logical_cpus);
  const std::optional<machine::Disturbance> others = others_of(tree);
  const std::string names = others ? busiest_text(*others) : "";
  if (others)
    evidence += fmt::format("; other processes use {:.2g} of {:.2g} CPUs now{}{}", others->other_cpus, others->cpus,
                            names.empty() ? "" : ": ", names);
  const bool busy_now = machine::disturbed(others);
  if ((load > 0.5 * machine->cpu.logical_cpus && load > 1) || busy_now)
    return warn(finding, evidence,
                names.empty() ? "stop other work before measuring or serving: it makes measurements slow and noisy"
                              : "stop these processes, or wait for them, before measuring or serving: they make "
                                "measurements slow and noisy");
  return ok(finding, evidence);
}

// The measured limits beside which everything is set.
Finding judge_limits(const machine::Machine* machine) {
  Finding finding = about(kCpuArea, "limits_spread", "spread of the measured limits", "ridge bench device");
  if (machine == nullptr || machine->peaks.empty()) return not_applicable(finding, "the limits are not measured");
  const bool busy = machine::disturbed(machine->disturbance);
  const std::vector<std::string> wide = machine::uncertain_limits(*machine);
  const char* remedy =
      "ridge bench device --fresh, when nothing else runs: the bounds and shares of the limit rest on them";
  std::string evidence = wide.empty() ? fmt::format("at most {:.0f} %", machine::kMostSpreadPercent) : wide.front();
  if (wide.size() > 1) evidence += fmt::format(" and {} more", wide.size() - 1);
  if (busy) evidence += "; " + machine::sentence(*machine->disturbance);
  return wide.empty() && !busy ? ok(finding, evidence)
                               : with_command("ridge bench device --fresh", warn(finding, evidence, remedy));
}

}  // namespace

Findings judge_cpu(const Facts& facts) {
  const machine::Machine* machine = facts.machine ? &*facts.machine : nullptr;
  const machine::Tree& tree = facts.tree;
  return {judge_isa(machine),
          judge_governor(tree),
          judge_clock_limit(tree),
          judge_heat(tree),
          judge_smt(tree, machine),
          judge_quota(tree, machine),
          judge_thread_variables(tree, machine),
          judge_numa(tree, machine),
          judge_transparent_pages(tree),
          judge_huge_pages(tree, machine),
          judge_mitigations(tree),
          judge_steal(tree),
          judge_load(tree, machine),
          judge_limits(machine)};
}

}  // namespace ridge::doctor
