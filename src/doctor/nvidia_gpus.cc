// NVIDIA's GPUs: the report of the management library, with their direct links (NVLink).
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/units.h"
#include "doctor/gpu_checks.h"
#include "gpu/gpu.h"

namespace ridge::doctor {
namespace {

using gpu::Gpu;
using gpu::PeerLink;

constexpr const char* kOrigin = "NVML";

Finding judge_persistence(const GpuOfVendor& known) {
  const Gpu& gpu = known.gpu;
  Finding finding = about_gpu(known, "persistence", "persistence mode");
  if (!gpu.persistence) return not_applicable(finding, gpu.persistence.reason);
  if (*gpu.persistence) return ok(finding, "on");
  return with_command(
      "sudo nvidia-smi -pm 1",
      warn(finding, "off: the driver releases the GPU whenever no process uses it",
           "start nvidia-persistenced, or nvidia-smi -pm 1 as root: otherwise every first use waits for the GPU to "
           "initialise, and clock settings are lost"));
}

Finding judge_mode(const GpuOfVendor& known) {
  const Gpu& gpu = known.gpu;
  Finding finding = about_gpu(known, "compute_mode", "compute mode");
  if (!gpu.compute_mode) return not_applicable(finding, gpu.compute_mode.reason);
  switch (*gpu.compute_mode) {
    case 0: return ok(finding, "shared");
    case 2:
      return with_command("sudo nvidia-smi -c 0",
                          fail(finding, "prohibited: no process may compute on it", "nvidia-smi -c 0 as root"));
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
  return ok(finding, fmt::format("on, {}: name one in CUDA_VISIBLE_DEVICES", counted(instances, "instance")));
}

// NVIDIA's DCGM (dcgmlib, dcgm_gpu_hardware_limits.h) calls one replay or recovery an error; checksum errors, repaired
// by a replay, matter from 100 per second on: fewer than 100 in total cannot reach that rate.
constexpr int64_t kReplayLimit = 1;
constexpr int64_t kChecksumLimit = 100;

int64_t up_count(const Gpu& gpu) {
  return std::count_if(gpu.links.begin(), gpu.links.end(), [](const PeerLink& link) { return link.up; });
}

// Most active links on a GPU of the same name.
int64_t best_of_its_kind(const Gpu& gpu, const std::vector<Gpu>& all) {
  int64_t best = 0;
  for (const Gpu& other : all)
    if (other.name && gpu.name && *other.name == *gpu.name) best = std::max(best, up_count(other));
  return best;
}

int64_t or_zero(const gpu::Reading<int64_t>& reading) { return reading ? *reading : 0; }

bool faulty(const PeerLink& link) {
  return or_zero(link.replays) >= kReplayLimit || or_zero(link.recoveries) >= kReplayLimit ||
         or_zero(link.crc_errors) >= kChecksumLimit;
}

std::string state_text(const Gpu& gpu) {
  std::set<std::string> remotes;
  std::string down;
  for (const PeerLink& link : gpu.links) {
    if (link.remote) remotes.insert(*link.remote);
    if (!link.up) down += fmt::format("{}{}", down.empty() ? "" : ", ", link.index);
  }
  std::string text = fmt::format("{} of {} up", up_count(gpu), gpu.links.size());
  if (!remotes.empty()) text += fmt::format(", to {}", counted(remotes.size(), "other device"));
  if (!down.empty()) text += "; down: " + down;
  return text;
}

std::string link_errors_text(const Gpu& gpu) {
  std::string text;
  for (const PeerLink& link : gpu.links)
    if (faulty(link))
      text += fmt::format("; link {}: {} replays, {} recoveries, {} checksum errors", link.index, or_zero(link.replays),
                          or_zero(link.recoveries), or_zero(link.crc_errors));
  return text;
}

Finding judge_peer_links(const GpuOfVendor& known, const std::vector<Gpu>& all) {
  const Gpu& gpu = known.gpu;
  Finding finding = about_gpu(known, "nvlink", "NVLink");
  if (gpu.links.empty()) return not_applicable(finding, "it has none: " + gpu.peer_links.reason);
  const int64_t up = up_count(gpu), best = best_of_its_kind(gpu, all);
  const std::string state = state_text(gpu), errors = link_errors_text(gpu);
  if (up == 0 && best == 0) return not_applicable(finding, state + ": no bridge or switch joins it to another GPU");
  if (up < best)
    return warn(finding, fmt::format("{}; another GPU of its kind has {}{}", state, best, errors),
                "reseat the bridge or the GPU and look for XID 74 in the kernel log: transfers between GPUs lose "
                "the bandwidth of these links");
  if (!errors.empty())
    return warn(finding, state + errors,
                "check again (nvidia-smi nvlink -e): if it grows, reseat bridge and GPU and look for XID 74 in the "
                "kernel log; replace parts that keep failing");
  if (up < static_cast<int64_t>(gpu.links.size()))
    return warn(finding, state,
                "reseat the bridges (nvidia-smi nvlink -s shows each link); with fewer bridges than the GPU has "
                "slots this is its full width");
  return ok(finding, state + ", no significant errors");
}

Findings judge_nvidia_gpu(const GpuOfVendor& known, const std::vector<Gpu>& all) {
  if (!known.gpu.failure.empty()) return {judge_answer(known)};
  return {judge_answer(known), judge_slowdown(known),   judge_ecc(known),      judge_persistence(known),
          judge_mode(known),   judge_mig(known),        judge_gpu_link(known), judge_peer_links(known, all),
          judge_use(known),    judge_power_limit(known)};
}

Finding judge_missing_library(const machine::Tree& tree, bool on_bus) {
  Finding finding = about("gpu", "nvml", "NVIDIA's management library", "libnvidia-ml.so.1");
  const Error error = machine::error_at(tree, entry::kNvml);
  if (error.code == Code::kTimeout)
    return fail(finding, error.message,
                "the driver hangs: look for XID 119 or 79 in the kernel log, then reset the GPU or reboot");
  if (error.message.find("nvmlInit") != std::string::npos || error.message.find("signal") != std::string::npos)
    return fail(finding, error.message, "repair the driver first: nothing can compute on this GPU");
  if (!on_bus) return not_applicable(finding, error.message);
  return fail(finding, error.message,
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
