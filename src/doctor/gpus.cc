// GPUs: on the PCI bus, with drivers and link widths; then, per vendor, the reports of its library or driver.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/proc_text.h"
#include "base/units.h"
#include "doctor/areas.h"
#include "doctor/gpu_checks.h"
#include "doctor/tool_output.h"
#include "gpu/gpu.h"
#include "machine/kernel_gpus.h"
#include "machine/pci_gpus.h"

namespace ridge::doctor {
namespace {

constexpr const char* kGpuArea = "gpu";

std::string name_of(const machine::PciGpu& gpu) {
  return fmt::format("{} {} at {}", machine::vendor_name(gpu.vendor), gpu.id, gpu.address);
}

Finding judge_driver(const machine::PciGpu& gpu) {
  Finding finding = about(kGpuArea, gpu.address + ".driver", "driver of " + name_of(gpu),
                          "/sys/bus/pci/devices/" + gpu.address + "/uevent");
  if (gpu.driver == "vfio-pci") return not_applicable(finding, "vfio-pci: passed through to a virtual machine");
  if (gpu.driver == "nouveau")
    return fail(finding, "nouveau: graphics only, no compute", "install NVIDIA's driver and keep nouveau from loading");
  if (!gpu.driver.empty()) return ok(finding, gpu.driver);
  if (gpu.display_only) return not_applicable(finding, "no driver; it is the CPU's integrated graphics");
  switch (gpu.vendor) {
    case machine::GpuVendor::kNvidia:
      return fail(finding, "no driver is bound to it",
                  "install or load the nvidia module (modprobe nvidia), and look at the kernel log: secure boot "
                  "refuses unsigned modules");
    case machine::GpuVendor::kAmd:
      return fail(finding, "no driver is bound to it", "load amdgpu (modprobe amdgpu), and look at the kernel log");
    case machine::GpuVendor::kIntel:
      return fail(finding, "no driver is bound to it",
                  "load i915 or xe; a GPU newer than the kernel needs a newer kernel");
  }
  return finding;
}

std::string link_text(int64_t lanes, double speed) {
  return fmt::format("x{} at {:g} GT/s ({})", lanes, speed, format_bandwidth(machine::link_bytes_per_s(lanes, speed)));
}

// The width counts; an idle GPU lowers the speed.
Finding judge_pci_link(const machine::PciGpu& gpu) {
  Finding finding =
      about(kGpuArea, gpu.address + ".link", "PCIe link of " + name_of(gpu), "/sys/bus/pci/devices/" + gpu.address);
  if (!gpu.width || !gpu.width_max || !gpu.speed || !gpu.speed_max)
    return not_applicable(finding, "the link is not reported: integrated, or a virtual machine");
  std::string evidence = link_text(*gpu.width, *gpu.speed) + ", could be " + link_text(*gpu.width_max, *gpu.speed_max);
  if (*gpu.width < *gpu.width_max)
    return warn(finding, evidence,
                "reseat the GPU, check the riser and choose a slot with all lanes: copies to the GPU are slower "
                "by the ratio");
  if (*gpu.speed < *gpu.speed_max)
    return ok(finding, evidence + "; a lower speed while idle is normal, check under load");
  return ok(finding, evidence);
}

// The kernel's own counters of Advanced Error Reporting; they outlive the log.
Finding judge_pci_errors(const machine::Tree& tree, const machine::PciGpu& gpu) {
  const std::string folder = "sys/bus/pci/devices/" + gpu.address + "/";
  Finding finding = about(kGpuArea, gpu.address + ".aer", "PCIe errors of " + name_of(gpu), "/" + folder + "aer_dev_*");
  auto total = [&](const char* file, const char* name) -> std::optional<int64_t> {
    std::optional<std::string> text = machine::text_at(tree, folder + file);
    return text ? to_number(line_value(*text, name, ' ').value_or("")) : std::nullopt;
  };
  std::optional<int64_t> corrected = total("aer_dev_correctable", "TOTAL_ERR_COR");
  if (!corrected) return not_applicable(finding, "not counted here");
  int64_t nonfatal = total("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL").value_or(0);
  int64_t fatal = total("aer_dev_fatal", "TOTAL_ERR_FATAL").value_or(0);
  std::string evidence = fmt::format("{} corrected, {} uncorrected, {} fatal since boot", *corrected, nonfatal, fatal);
  const std::string remedy = "reseat the GPU and its riser, check its power; watch the count";
  if (fatal > 0) return fail(finding, evidence, remedy);
  if (nonfatal > 0 || *corrected > 100) return warn(finding, evidence, remedy);
  return ok(finding, evidence);
}

// The CPUs usable by this process, against the GPU's memory node.
Finding judge_node(const Facts& facts, const machine::PciGpu& gpu) {
  Finding finding = about(kGpuArea, gpu.address + ".numa", "NUMA node of " + name_of(gpu),
                          "/sys/bus/pci/devices/" + gpu.address + "/numa_node");
  if (!gpu.numa_node || *gpu.numa_node < 0 || !facts.machine || facts.machine->cpu.numa.size() < 2)
    return not_applicable(finding, "one node, or the GPU's is not reported");
  for (const machine::NumaNode& node : facts.machine->cpu.numa)
    if (node.id == *gpu.numa_node && node.cpus > 0)
      return ok(finding, fmt::format("node {}, with {} allowed CPUs", node.id, node.cpus));
  return warn(
      finding, fmt::format("node {}, with no allowed CPU", *gpu.numa_node),
      fmt::format("numactl --cpunodebind={0} --membind={0}: copies to the GPU cross between sockets", *gpu.numa_node));
}

// A vendor's run-time library required by engines: whether the loader finds it.
Finding judge_runtime(const machine::Tree& tree, machine::GpuVendor vendor) {
  const char* library = vendor == machine::GpuVendor::kAmd ? "libamdhip64.so" : "libze_loader.so.1";
  const char* package =
      vendor == machine::GpuVendor::kAmd ? "ROCm's HIP run-time" : "the Level Zero loader and Intel's compute run-time";
  Finding finding = about(kGpuArea, fmt::format("{}.runtime", vendor == machine::GpuVendor::kAmd ? "amd" : "intel"),
                          fmt::format("compute run-time of {}", machine::vendor_name(vendor)), library);
  std::optional<std::string> answer = line_value(machine::text_at(tree, entry::kLibraries).value_or(""), library);
  if (!answer) return not_applicable(finding, machine::reason_at(tree, entry::kLibraries));
  if (*answer == "loaded") return ok(finding, fmt::format("{} can be loaded", library));
  return warn(finding, *answer, fmt::format("install {}: engines need it to run on this GPU", package));
}

// The tool answers, or hangs, as with a faulty driver.
Finding judge_nvidia_smi(const machine::Tree& tree) {
  Finding finding = about(kGpuArea, "nvidia-smi", "nvidia-smi", "nvidia-smi -L");
  if (std::optional<std::string> text = machine::text_at(tree, entry::kNvidiaSmi)) {
    auto gpus = std::count(text->begin(), text->end(), '\n') + 1;
    return ok(finding, fmt::format("answers, {}", counted(gpus, "line")));
  }
  const Error error = machine::error_at(tree, entry::kNvidiaSmi);
  if (error.code == Code::kNotFound) return not_applicable(finding, error.message);
  if (error.code == Code::kTimeout)
    return fail(finding, error.message,
                "the driver hangs: look for XID 119 or 79 in the kernel log, then reset the GPU or reboot");
  return fail(finding, error.message,
              "reinstall or reload the driver for the running kernel, and look at the kernel log");
}

Findings judge_bus(const Facts& facts, const std::vector<machine::PciGpu>& gpus) {
  const machine::Tree& tree = facts.tree;
  Findings findings;
  for (const machine::PciGpu& gpu : gpus) {
    findings.push_back(judge_driver(gpu));
    if (gpu.display_only) continue;
    findings.push_back(judge_pci_link(gpu));
    findings.push_back(judge_pci_errors(tree, gpu));
    findings.push_back(judge_node(facts, gpu));
  }
  for (machine::GpuVendor vendor : {machine::GpuVendor::kAmd, machine::GpuVendor::kIntel})
    if (std::any_of(gpus.begin(), gpus.end(),
                    [&](const machine::PciGpu& gpu) { return gpu.vendor == vendor && !gpu.display_only; }))
      findings.push_back(judge_runtime(tree, vendor));
  return findings;
}

Finding judge_level(const GpuOfVendor& known) {
  Finding finding = about_gpu(known, "level", "performance level");
  const gpu::Reading<std::string>& level = known.gpu.performance_level;
  if (!level) return not_applicable(finding, level.reason);
  if (*level == "auto" || *level == "high" || *level == "perf_determinism") return ok(finding, *level);
  return warn(finding, *level + ": it was set, and locks the clocks",
              fmt::format("echo auto > /sys/bus/pci/devices/{}/power_dpm_force_performance_level, as root",
                          *known.gpu.pci_address));
}

Findings judge_kernel_gpu(const GpuOfVendor& known) {
  if (!known.gpu.failure.empty()) return {judge_answer(known)};
  Findings findings = {judge_answer(known),   judge_slowdown(known), judge_ecc(known),
                       judge_gpu_link(known), judge_use(known),      judge_power_limit(known)};
  if (known.vendor == machine::GpuVendor::kAmd) findings.push_back(judge_level(known));
  return findings;
}

}  // namespace

Findings judge_gpus(const Facts& facts) {
  const machine::Tree& tree = facts.tree;
  std::vector<machine::PciGpu> gpus = machine::pci_gpus(tree);
  auto on_bus = [&](machine::GpuVendor vendor) {
    return std::any_of(gpus.begin(), gpus.end(), [&](const machine::PciGpu& gpu) { return gpu.vendor == vendor; });
  };
  const bool nvidia = on_bus(machine::GpuVendor::kNvidia);
  NvidiaFindings of_nvidia = judge_nvidia_gpus(tree, nvidia);
  std::vector<GpuFindings> judged = std::move(of_nvidia.of_gpus);
  for (machine::GpuVendor vendor : {machine::GpuVendor::kAmd, machine::GpuVendor::kIntel})
    for (const gpu::Gpu& gpu : machine::kernel_gpus(tree, vendor))
      judged.push_back({*gpu.pci_address, judge_kernel_gpu({gpu, vendor})});
  Findings findings = one_per_matter(judge_bus(facts, gpus), std::move(judged));
  if (gpus.empty())
    findings.push_back(not_applicable(about(kGpuArea, "bus", "GPUs on the PCI bus", "/sys/bus/pci/devices"),
                                      "no GPU of NVIDIA, AMD or Intel, or the bus is not visible in this container"));
  std::move(of_nvidia.of_system.begin(), of_nvidia.of_system.end(), std::back_inserter(findings));
  if (nvidia || tree.files.contains(entry::kNvidiaSmi) ||
      machine::error_at(tree, entry::kNvidiaSmi).code == Code::kTimeout)
    findings.push_back(judge_nvidia_smi(tree));
  for (Finding& finding : judge_outputs(facts, kGpuArea)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace ridge::doctor
