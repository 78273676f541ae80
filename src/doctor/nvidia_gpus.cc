#include "doctor/nvidia_gpus.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "doctor/gpu_checks.h"
#include "doctor/peer_links.h"
#include "gpu/gpu.h"

namespace ridge::doctor {
namespace {

using gpu::Gpu;

constexpr const char* kOrigin = "NVML";

Finding judge_persistence(const GpuOfVendor& known) {
  const Gpu& gpu = known.gpu;
  Finding finding = about_gpu(known, "persistence", "persistence mode");
  if (!gpu.persistence) return not_applicable(finding, gpu.persistence.reason);
  if (*gpu.persistence) return ok(finding, "on");
  return warn(finding, "off: the driver releases the GPU whenever no process uses it",
              "start nvidia-persistenced, or nvidia-smi -pm 1 as root: otherwise every first use waits for the GPU to "
              "initialise, and clock settings are lost");
}

Finding judge_mode(const GpuOfVendor& known) {
  const Gpu& gpu = known.gpu;
  Finding finding = about_gpu(known, "compute_mode", "compute mode");
  if (!gpu.compute_mode) return not_applicable(finding, gpu.compute_mode.reason);
  switch (*gpu.compute_mode) {
    case 0: return ok(finding, "shared");
    case 2: return fail(finding, "prohibited: no process may compute on it", "nvidia-smi -c 0 as root");
    default: return ok(finding, "exclusive: one process at a time");
  }
}

Finding judge_mig(const GpuOfVendor& known) {
  const Gpu& gpu = known.gpu;
  Finding finding = about_gpu(known, "mig", "MIG");
  if (!gpu.mig) return not_applicable(finding, gpu.mig.reason);
  if (!*gpu.mig) return ok(finding, "off: one process sees the whole GPU");
  int64_t instances = gpu.mig_instances ? *gpu.mig_instances : 0;
  if (instances == 0)
    return fail(finding, "on, without instances: CUDA sees no device",
                "create instances (nvidia-smi mig -cgi ... -C), or turn MIG off (nvidia-smi -mig 0)");
  return ok(finding,
            fmt::format("on, {} instance{}: name one in CUDA_VISIBLE_DEVICES", instances, instances == 1 ? "" : "s"));
}

Findings judge_nvidia_gpu(const GpuOfVendor& known, const std::vector<Gpu>& all) {
  if (!known.gpu.failure.empty()) return {judge_answer(known)};
  return {judge_answer(known), judge_slowdown(known),   judge_ecc(known),      judge_persistence(known),
          judge_mode(known),   judge_mig(known),        judge_gpu_link(known), judge_peer_links(known, all),
          judge_use(known),    judge_power_limit(known)};
}

Finding judge_missing_library(const machine::Tree& tree, bool on_bus) {
  Finding finding = about("gpu", "nvml", "NVIDIA's management library", "libnvidia-ml.so.1");
  std::string reason = machine::reason_at(tree, entry::kNvml);
  if (reason.find("did not end") != std::string::npos)
    return fail(finding, reason,
                "the driver hangs: look for XID 119 or 79 in the kernel log, then reset the GPU or reboot");
  if (reason.find("nvmlInit") != std::string::npos || reason.find("signal") != std::string::npos)
    return fail(finding, reason, "repair the driver first: nothing can compute on this GPU");
  if (!on_bus) return not_applicable(finding, reason);
  return fail(finding, reason,
              "install the driver's libraries; in a container start it with --gpus all (or the device plugin), which "
              "mounts them");
}

Finding judge_visible_devices(const machine::Tree& tree, size_t gpus) {
  Finding finding = about("gpu", "visible", "GPUs visible to CUDA", "environment");
  std::optional<std::string> environment = machine::text_at(tree, entry::kEnvironment);
  std::string value;
  bool set = false;
  std::string text = environment.value_or("") + "\n";
  if (size_t at = text.find("CUDA_VISIBLE_DEVICES="); at != std::string::npos) {
    set = true;
    value = text.substr(at + 21, text.find('\n', at) - at - 21);
  }
  if (!set) return ok(finding, fmt::format("all {}", gpus));
  if (value.empty() || value == "-1" || value == "NoDevFiles")
    return fail(finding, "CUDA_VISIBLE_DEVICES='" + value + "' hides every GPU",
                "unset CUDA_VISIBLE_DEVICES, or name the GPUs to use");
  return ok(finding, "CUDA_VISIBLE_DEVICES=" + value);
}

}  // namespace

NvidiaFindings judge_nvidia_gpus(const machine::Tree& tree, bool on_bus) {
  Result<Json> json = machine::json_at(tree, entry::kNvml);
  if (!json) return {{judge_missing_library(tree, on_bus)}, {}};
  Result<gpu::GpuSystem> system = from_json<gpu::GpuSystem>(*json);
  if (!system)
    return {{not_applicable(about("gpu", "nvml", "NVIDIA's management library", kOrigin), system.error().message)}, {}};
  NvidiaFindings findings;
  if (system->gpus.empty())
    findings.of_system.push_back(fail(about("gpu", "nvml", "NVIDIA's management library", kOrigin),
                                      "the driver runs but has no GPU",
                                      "see the kernel log; give a container the device files (--gpus all)"));
  else
    findings.of_system.push_back(judge_visible_devices(tree, system->gpus.size()));
  for (const Gpu& gpu : system->gpus)
    findings.of_gpus.push_back(
        {gpu.pci_address ? *gpu.pci_address : "", judge_nvidia_gpu({gpu, machine::GpuVendor::kNvidia}, system->gpus)});
  return findings;
}

}  // namespace ridge::doctor
