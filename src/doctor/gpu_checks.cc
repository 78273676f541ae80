#include "doctor/gpu_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "gpu/slowdown.h"

namespace ridge::doctor {
namespace {

using gpu::Gpu;
using gpu::SlowdownKind;

constexpr int64_t kHeatMargin = 5;  // [°C] below the critical temperature, as for amdgpu through /sys

std::string watts(int64_t milliwatts) { return fmt::format("{:.0f} W", static_cast<double>(milliwatts) / 1000); }
std::string bytes(int64_t value) { return format_bytes(static_cast<double>(value)); }

std::string address_of(const Gpu& gpu) { return gpu.pci_address ? *gpu.pci_address : ""; }

// How to reset a GPU, as root, with the vendor's own tool.
std::string reset_command(const GpuOfVendor& known) {
  switch (known.vendor) {
    case machine::GpuVendor::kNvidia: return "nvidia-smi --gpu-reset";
    case machine::GpuVendor::kAmd: return fmt::format("rocm-smi --gpureset -d {}", known.gpu.index);
    case machine::GpuVendor::kIntel: return fmt::format("xpu-smi config -d {} --reset", known.gpu.index);
  }
  return "";
}

std::string limit_command(const GpuOfVendor& known) {
  int64_t limit_w = *known.gpu.power_limit_default_mw / 1000;
  switch (known.vendor) {
    case machine::GpuVendor::kNvidia: return fmt::format("nvidia-smi -i {} -pl {}", known.gpu.index, limit_w);
    case machine::GpuVendor::kAmd:
      return fmt::format("rocm-smi -d {} --setpoweroverdrive {}", known.gpu.index, limit_w);
    case machine::GpuVendor::kIntel:
      return fmt::format("xpu-smi config -d {} --powerlimit {}", known.gpu.index, limit_w);
  }
  return "";
}

std::string remedy_of_silence(machine::GpuVendor vendor) {
  switch (vendor) {
    case machine::GpuVendor::kNvidia:
      return "drain and reboot the machine; look for XID 79 in the kernel log, and check power, cooling and seating";
    case machine::GpuVendor::kAmd:
      return "drain and reboot the machine; look for amdgpu lines in the kernel log (ring timeout, GPU reset), "
             "and "
             "check power, cooling and seating";
    case machine::GpuVendor::kIntel:
      return "drain and reboot the machine; look for i915 or xe lines in the kernel log (wedged, GPU HANG), and "
             "check power, cooling and seating";
  }
  return "";
}

bool too_hot(const GpuOfVendor& known) {
  const Gpu& gpu = known.gpu;
  return known.vendor != machine::GpuVendor::kNvidia && gpu.temperature_c && gpu.slowdown_temperature_c &&
         *gpu.temperature_c > *gpu.slowdown_temperature_c - kHeatMargin;
}

std::string count_text(const gpu::Reading<int64_t>& reading) {
  return reading ? std::to_string(*reading) : std::string("unknown");
}

// "12 corrected and 2 uncorrected since the driver started, 240 and 3 ever, 1 rows remapped"
std::string health_text(const GpuOfVendor& known) {
  const Gpu& gpu = known.gpu;
  std::string text = fmt::format("{} corrected and {} uncorrected since the driver started",
                                 count_text(gpu.ecc_corrected), count_text(gpu.ecc_uncorrected));
  if (known.vendor == machine::GpuVendor::kNvidia || gpu.ecc_uncorrected_ever)
    text += fmt::format(", {} and {} ever", count_text(gpu.ecc_corrected_ever), count_text(gpu.ecc_uncorrected_ever));
  if (known.vendor == machine::GpuVendor::kNvidia)
    text += fmt::format(", {} rows remapped", count_text(gpu.rows_remapped));
  else if (gpu.rows_remapped)
    text += fmt::format(", {} pages retired", count_text(gpu.rows_remapped));
  return text;
}

// "gpu.0000:18:00.0.link" → "link"
std::string_view matter_of(const Finding& finding) {
  return std::string_view(finding.id).substr(finding.id.rfind('.') + 1);
}

}  // namespace

std::string_view library_name(machine::GpuVendor vendor) {
  switch (vendor) {
    case machine::GpuVendor::kNvidia: return "NVML";
    case machine::GpuVendor::kAmd: return "amdgpu";
    case machine::GpuVendor::kIntel: return "i915 or xe";
  }
  return "";
}

Finding about_gpu(const GpuOfVendor& known, std::string_view id, std::string_view what) {
  const Gpu& gpu = known.gpu;
  std::string name = gpu.name ? *gpu.name : "unknown GPU";
  const std::string_view origin = library_name(known.vendor);
  if (known.vendor == machine::GpuVendor::kNvidia)
    return about("gpu", fmt::format("{}.{}", gpu.index, id), fmt::format("{} of GPU {} ({})", what, gpu.index, name),
                 origin);
  std::string place = address_of(gpu);
  if (place.empty()) place = fmt::format("{} {}", machine::vendor_name(known.vendor), gpu.index);
  return about("gpu", fmt::format("{}.{}", place, id), fmt::format("{} of {} at {}", what, name, place), origin);
}

Finding judge_answer(const GpuOfVendor& known) {
  const Gpu& gpu = known.gpu;
  Finding finding = about_gpu(known, "state", "state");
  if (!gpu.failure.empty()) return fail(finding, gpu.failure, remedy_of_silence(known.vendor));
  std::string evidence = gpu.uuid ? *gpu.uuid : "answers";
  if (gpu.pci_address) evidence += " at " + *gpu.pci_address;
  if (gpu.temperature_c) evidence += fmt::format(", {} °C", *gpu.temperature_c);
  if (gpu.power_mw && gpu.power_limit_mw)
    evidence += fmt::format(", {} of {}", watts(*gpu.power_mw), watts(*gpu.power_limit_mw));
  if (gpu.sm_clock_mhz && gpu.sm_clock_max_mhz)
    evidence += fmt::format(", {} of {} MHz", *gpu.sm_clock_mhz, *gpu.sm_clock_max_mhz);
  if (gpu.partition) evidence += ", partition " + *gpu.partition;
  if (too_hot(known))
    return warn(finding, evidence + fmt::format(" (critical {} °C)", *gpu.slowdown_temperature_c),
                "check fans and inlet air");
  return ok(finding, evidence);
}

Finding judge_slowdown(const GpuOfVendor& known) {
  const Gpu& gpu = known.gpu;
  Finding finding = about_gpu(known, "throttle", "slowdown");
  if (!gpu.slowdown_bits) return not_applicable(finding, gpu.slowdown_bits.reason);
  std::string evidence;
  SlowdownKind worst = SlowdownKind::kHarmless;
  for (const gpu::Slowdown& slowdown : gpu::decode_slowdown(static_cast<uint64_t>(*gpu.slowdown_bits))) {
    evidence += fmt::format("{}{}: {}", evidence.empty() ? "" : "; ", slowdown.name, slowdown.meaning);
    worst = std::max(worst, slowdown.kind);
  }
  if (evidence.empty()) evidence = "none: it runs at the allowed clock";
  if (gpu.temperature_c && worst >= SlowdownKind::kThermal) evidence += fmt::format(" ({} °C)", *gpu.temperature_c);
  switch (worst) {
    case SlowdownKind::kHardware:
      return fail(
          finding, evidence,
          "heat: clean the air path and check fans; power brake: check the power supplies and the server's power cap");
    case SlowdownKind::kThermal:
      return warn(finding, evidence,
                  "improve cooling, or lower the power limit until the temperature stays below its limit");
    case SlowdownKind::kPower: return ok(finding, evidence + "; usual under full load");
    case SlowdownKind::kHarmless: return ok(finding, evidence);
  }
  return finding;
}

Finding judge_ecc(const GpuOfVendor& known) {
  const Gpu& gpu = known.gpu;
  Finding finding = about_gpu(known, "ecc", "memory errors");
  if (!gpu.ecc_uncorrected && !gpu.row_remap_failed)
    return not_applicable(finding, "this GPU counts none: " + gpu.ecc_uncorrected.reason);
  std::string evidence = health_text(known);
  if (gpu.row_remap_failed && *gpu.row_remap_failed)
    return fail(finding, evidence + ", a remap failed", "replace the GPU: no spare rows are left");
  if (gpu.ecc_uncorrected && *gpu.ecc_uncorrected > 0)
    return fail(
        finding, evidence,
        fmt::format("end the processes on it and reset it ({}): its results may be wrong", reset_command(known)));
  if (gpu.row_remap_pending && *gpu.row_remap_pending)
    return warn(finding,
                evidence + (known.vendor == machine::GpuVendor::kNvidia ? ", a remap waits for a reset"
                                                                        : ", a repair waits for a reset"),
                fmt::format("reset the GPU at the next opportunity ({})", reset_command(known)));
  return ok(finding, evidence);
}

Finding judge_gpu_link(const GpuOfVendor& known) {
  const Gpu& gpu = known.gpu;
  Finding finding = about_gpu(known, "link", "PCIe link");
  if (!gpu.pcie_width || !gpu.pcie_width_max || !gpu.pcie_generation || !gpu.pcie_generation_max)
    return not_applicable(finding, gpu.pcie_width ? gpu.pcie_generation.reason : gpu.pcie_width.reason);
  std::string evidence = fmt::format("generation {} x{}, could be {} x{}", *gpu.pcie_generation, *gpu.pcie_width,
                                     *gpu.pcie_generation_max, *gpu.pcie_width_max);
  if (gpu.pcie_replays) evidence += fmt::format(", {} PCIe replays", *gpu.pcie_replays);
  if (*gpu.pcie_width < *gpu.pcie_width_max)
    return warn(finding, evidence,
                "reseat the GPU, check the riser and choose a slot with all lanes: copies to the GPU are slower "
                "by the ratio");
  // An idle GPU lowers the link speed. Only NVIDIA reports idleness as a state.
  bool awake =
      known.vendor == machine::GpuVendor::kNvidia ? gpu.performance_state && *gpu.performance_state <= 2 : true;
  bool working = awake && gpu.utilization_percent && *gpu.utilization_percent > 10;
  if (*gpu.pcie_generation < *gpu.pcie_generation_max && working)
    return warn(finding, evidence + ", while it works", "check the slot's generation in the firmware, and the riser");
  if (gpu.pcie_replays && *gpu.pcie_replays > 1000)
    return warn(finding, evidence, "look for PCIe errors in the kernel log; reseat the GPU and its riser");
  return ok(finding, evidence);
}

Finding judge_use(const GpuOfVendor& known) {
  const Gpu& gpu = known.gpu;
  Finding finding = about_gpu(known, "use", "other work");
  if (!gpu.memory_used_bytes) return not_applicable(finding, gpu.memory_used_bytes.reason);
  std::string evidence = bytes(*gpu.memory_used_bytes);
  if (gpu.memory_total_bytes) evidence += " of " + bytes(*gpu.memory_total_bytes);
  evidence += " in use";
  if (gpu.utilization_percent) evidence += fmt::format(", {} % busy", *gpu.utilization_percent);
  for (const gpu::GpuProcess& process : gpu.processes)
    evidence += fmt::format(", process {}{}", process.pid,
                            process.memory_bytes < 0 ? "" : " with " + bytes(process.memory_bytes));
  bool busy = gpu.utilization_percent && *gpu.utilization_percent > 10;
  const bool full = gpu.memory_total_bytes && *gpu.memory_used_bytes > *gpu.memory_total_bytes / 10;
  if (full || busy) return warn(finding, evidence, "end it or wait before measuring; plan with the remaining memory");
  return ok(finding, evidence);
}

Finding judge_power_limit(const GpuOfVendor& known) {
  const Gpu& gpu = known.gpu;
  Finding finding = about_gpu(known, "power_limit", "power limit");
  if (!gpu.power_limit_mw || !gpu.power_limit_default_mw)
    return not_applicable(finding, gpu.power_limit_mw ? gpu.power_limit_default_mw.reason : gpu.power_limit_mw.reason);
  std::string evidence =
      fmt::format("{}, by default {}", watts(*gpu.power_limit_mw), watts(*gpu.power_limit_default_mw));
  if (gpu.power_limit_max_mw) evidence += ", at most " + watts(*gpu.power_limit_max_mw);
  // Handbook L18: a GPU at 71 to 78 % of its power loses 3 to 5 %, at 60 % 15 %.
  if (*gpu.power_limit_mw * 4 < *gpu.power_limit_default_mw * 3)
    return warn(finding, evidence, limit_command(known) + " as root, unless power or heat requires it");
  return ok(finding, evidence);
}

Findings one_per_matter(Findings bus, std::vector<GpuFindings> gpus) {
  Findings from_libraries;
  for (GpuFindings& gpu : gpus)
    for (Finding& finding : gpu.findings) {
      const std::string id = fmt::format("gpu.{}.{}", gpu.address, matter_of(finding));
      auto same = std::find_if(bus.begin(), bus.end(), [&](const Finding& other) { return other.id == id; });
      if (same != bus.end() && same->verdict < finding.verdict) continue;
      if (same != bus.end()) bus.erase(same);
      from_libraries.push_back(std::move(finding));
    }
  bus.insert(bus.end(), std::make_move_iterator(from_libraries.begin()), std::make_move_iterator(from_libraries.end()));
  return bus;
}

}  // namespace ridge::doctor
