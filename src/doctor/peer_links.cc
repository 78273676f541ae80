#include "doctor/peer_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ridge::doctor {
namespace {

using gpu::Gpu;
using gpu::PeerLink;

// NVIDIA's DCGM (dcgmlib, dcgm_gpu_hardware_limits.h) calls one replay or recovery an error; checksum errors, repaired by a
// replay, matter from 100 per second on: fewer than 100 in total cannot reach that rate.
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

int64_t counted(const gpu::Reading<int64_t>& reading) { return reading ? *reading : 0; }

bool faulty(const PeerLink& link) {
  return counted(link.replays) >= kReplayLimit || counted(link.recoveries) >= kReplayLimit ||
         counted(link.crc_errors) >= kChecksumLimit;
}

std::string state_text(const Gpu& gpu) {
  std::set<std::string> remotes;
  std::string down;
  for (const PeerLink& link : gpu.links) {
    if (link.remote) remotes.insert(*link.remote);
    if (!link.up) down += fmt::format("{}{}", down.empty() ? "" : ", ", link.index);
  }
  std::string text = fmt::format("{} of {} up", up_count(gpu), gpu.links.size());
  if (!remotes.empty()) text += fmt::format(", to {} other device{}", remotes.size(), remotes.size() == 1 ? "" : "s");
  if (!down.empty()) text += "; down: " + down;
  return text;
}

std::string link_errors_text(const Gpu& gpu) {
  std::string text;
  for (const PeerLink& link : gpu.links)
    if (faulty(link))
      text += fmt::format("; link {}: {} replays, {} recoveries, {} checksum errors", link.index, counted(link.replays),
                          counted(link.recoveries), counted(link.crc_errors));
  return text;
}

}  // namespace

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

}  // namespace ridge::doctor
