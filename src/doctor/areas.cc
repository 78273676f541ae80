#include "doctor/areas.h"

#include "doctor/tool_output.h"
#include "machine/kernel_gpus.h"

namespace ridge::doctor {
namespace {

Finding decided(Finding finding, Verdict verdict, std::string evidence, std::string remedy = "") {
  finding.verdict = verdict;
  finding.evidence = std::move(evidence);
  finding.remedy = std::move(remedy);
  return finding;
}

const std::vector<std::string> kCpuFiles = {
    "proc/cpuinfo",
    "proc/stat",
    "proc/loadavg",
    "proc/self/status",
    "proc/sys/kernel/numa_balancing",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/smt/*",
    "sys/devices/system/cpu/cpu*/cpufreq/scaling_*",
    "sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq",
    "sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",
    "sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count",
    "sys/devices/system/cpu/intel_pstate/no_turbo",
    "sys/devices/system/cpu/cpufreq/boost",
    "sys/devices/system/cpu/vulnerabilities/*",
    "sys/devices/system/node/node*/meminfo",
    "sys/devices/system/node/node*/cpulist",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/defrag",
    "sys/kernel/mm/hugepages/*/nr_hugepages",
    "sys/kernel/mm/hugepages/*/free_hugepages",
};

const std::vector<std::string> kMemoryFiles = {
    "proc/meminfo",
    "proc/pressure/memory",
    "proc/sys/vm/overcommit_memory",
    "sys/devices/system/edac/mc/mc*/ce_count",
    "sys/devices/system/edac/mc/mc*/ue_count",
};

const std::vector<std::string> kLimitsFiles = {"proc/self/limits", "proc/mounts"};

const std::vector<std::string> kNetworkFiles = {
    "sys/class/net/*/operstate",
    "sys/class/net/*/speed",
    "sys/class/net/*/duplex",
    "sys/class/net/*/mtu",
    "sys/class/net/*/type",
    "sys/class/net/*/device/uevent",
    "sys/class/net/*/statistics/rx_*",
    "sys/class/net/*/statistics/tx_*",
    "sys/class/infiniband/*/ports/*/state",
    "sys/class/infiniband/*/ports/*/phys_state",
    "sys/class/infiniband/*/ports/*/rate",
    "sys/class/infiniband/*/ports/*/link_layer",
    "sys/class/infiniband/*/ports/*/counters/symbol_error",
    "sys/class/infiniband/*/ports/*/counters/link_downed",
};

const std::vector<std::string> kGpuFiles = {
    "sys/bus/pci/devices/*/class",
    "sys/bus/pci/devices/*/vendor",
    "sys/bus/pci/devices/*/device",
    "sys/bus/pci/devices/*/uevent",
    "sys/bus/pci/devices/*/numa_node",
    "sys/bus/pci/devices/*/local_cpulist",
    "sys/bus/pci/devices/*/current_link_speed",
    "sys/bus/pci/devices/*/current_link_width",
    "sys/bus/pci/devices/*/max_link_speed",
    "sys/bus/pci/devices/*/max_link_width",
    "sys/bus/pci/devices/*/aer_dev_correctable",
    "sys/bus/pci/devices/*/aer_dev_nonfatal",
    "sys/bus/pci/devices/*/aer_dev_fatal",
    "proc/driver/nvidia/version",
};

const std::vector<std::string> kVersionFiles = {
    "proc/driver/nvidia/version",  "proc/1/cgroup", "etc/os-release", ".dockerenv", "run/.containerenv",
    "usr/local/cuda/version.json",
};

const std::vector<std::string> kClockFiles = {
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/system/clocksource/clocksource0/available_clocksource",
};

std::vector<std::string> gpu_files() {
  std::vector<std::string> files = kGpuFiles;
  for (std::string& file : machine::kernel_gpu_files()) files.push_back(std::move(file));
  return files;
}

}  // namespace

const std::vector<Area>& areas() {
  static const std::vector<Area> all = {
      {"cpu", kCpuFiles, judge_cpu},
      {"memory", kMemoryFiles, judge_memory},
      {"limits", kLimitsFiles, judge_limits},
      {"storage",
       {"sys/class/nvme/*/device/current_link_*"},
       [](const Facts& facts) { return judge_outputs(facts, "storage"); }},
      {"network", kNetworkFiles, judge_network},
      {"gpu", gpu_files(), judge_gpus},
      {"log", {}, judge_kernel_log},
      {"versions", kVersionFiles, judge_versions},
      {"engines", {}, judge_engines},
      {"clock", kClockFiles, judge_clock},
  };
  return all;
}

std::vector<std::string_view> area_names() {
  std::vector<std::string_view> names;
  for (const Area& area : areas()) names.push_back(area.name);
  return names;
}

Finding about(std::string_view area, std::string_view id, std::string_view title, std::string_view origin) {
  Finding finding;
  finding.area = area;
  finding.id = std::string(area) + "." + std::string(id);
  finding.title = title;
  finding.origin = origin;
  return finding;
}

Finding ok(Finding finding, std::string evidence) {
  return decided(std::move(finding), Verdict::kOk, std::move(evidence));
}
Finding not_applicable(Finding finding, std::string reason) {
  return decided(std::move(finding), Verdict::kNotApplicable, std::move(reason));
}
Finding warn(Finding finding, std::string evidence, std::string remedy) {
  return decided(std::move(finding), Verdict::kWarn, std::move(evidence), std::move(remedy));
}
Finding fail(Finding finding, std::string evidence, std::string remedy) {
  return decided(std::move(finding), Verdict::kFail, std::move(evidence), std::move(remedy));
}

Finding with_command(std::string command, Finding finding) {
  if (finding.verdict == Verdict::kFail || finding.verdict == Verdict::kWarn) finding.command = std::move(command);
  return finding;
}

}  // namespace ridge::doctor
