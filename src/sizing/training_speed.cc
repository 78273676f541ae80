#include "sizing/training_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ridge::sizing {
namespace {

// One direction. PCIe: PCI-SIG, x16, 128b/130b coding. NVLink: NVIDIA A100 and H100 data sheets (600 and 900 GB/s both
// ways). Ethernet: 100 Gbit/s.
struct KnownLink {
  const char* name;
  double bytes_per_s;
  double share;
  const char* why;
};
constexpr const char* kThroughHost =
    "assumed: without peer access every byte goes through host memory; fitted to the handbook's L27";
constexpr const char* kNvlink = "assumed: the share of NVLink's rate in nccl-tests for large messages";
constexpr const char* kNetwork = "assumed: what remains after protocols";
constexpr KnownLink kLinks[] = {{.name = "pcie3", .bytes_per_s = 15.75e9, .share = 0.2, .why = kThroughHost},
                                {.name = "pcie4", .bytes_per_s = 31.5e9, .share = 0.2, .why = kThroughHost},
                                {.name = "pcie5", .bytes_per_s = 63.0e9, .share = 0.2, .why = kThroughHost},
                                {.name = "nvlink3", .bytes_per_s = 300e9, .share = 0.8, .why = kNvlink},
                                {.name = "nvlink4", .bytes_per_s = 450e9, .share = 0.8, .why = kNvlink},
                                {.name = "eth100", .bytes_per_s = 12.5e9, .share = 0.8, .why = kNetwork}};

// Bytes exchanged by a replica per step: gradients by all-reduce; ZeRO 3 gathers weights twice and scatters gradients,
// half as much again (Rajbhandari et al. 2020, section 7).
double exchanged_bytes(const TrainingSetup& setup, const TrainingMemory& memory) {
  StateBytes bytes = state_bytes(setup.optimiser, setup.precision);
  double mine = memory.trained_parameters * bytes.gradient / (static_cast<double>(setup.tensor) * setup.pipeline);
  return setup.zero_stage == 3 ? 1.5 * mine : mine;
}

}  // namespace

Result<Link> link_from_name(const std::string& name) {
  std::string known;
  for (const KnownLink& link : kLinks) {
    if (name == link.name)
      return Link{.name = name, .bytes_per_s = link.bytes_per_s, .share = link.share, .why = link.why};
    known += std::string(link.name) + ", ";
  }
  double rate = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rate);
  if (error == std::errc() && end == name.data() + name.size() && rate > 0)
    return Link{.name = fmt::format("{:g} GB/s", rate), .bytes_per_s = rate * 1e9, .share = 1, .why = "as given"};
  return Error{Code::kInvalid, fmt::format("unknown link '{}'; known: {}or a rate in GB/s", name, known)};
}

double all_reduce_seconds(double bytes, int64_t devices, const Link& link) {
  if (devices < 2) return 0;
  double n = static_cast<double>(devices);
  return bytes * 2 * (n - 1) / n / (link.bytes_per_s * link.share);
}

// Handbook L24: 1850, 2140, 2320, 2410 images/s at batch 64 to 512 are within 2 % of batch / (9.2 ms + batch / 2510):
// 2510 images/s of 24.6 GFLOP are 37 % of the GPU's 165 TFLOP/s (FP16, FP32 accumulation), and 9.2 ms over ResNet-50's
// 176 nodes in three passes are 17 µs each. L25: mixed precision takes 38 % off the time, so FP32 reaches 46 % of 82.6.
TrainingAssumptions assumed_for(TrainingPrecision precision) {
  TrainingAssumptions assumptions;
  assumptions.efficiency = precision == TrainingPrecision::kFp32 ? 0.46 : 0.37;
  assumptions.seconds_per_kernel = 17e-6;
  assumptions.overlap = 0.4;  // with the share of PCIe above: L27's 1.80 to 1.85 ×, at batch 96 to 128
  assumptions.efficiency_source = "assumed: fitted to ResNet-50 on an RTX 4090, handbook L24 and L25";
  return assumptions;
}

double passes_of(const TrainingSetup& setup) {
  double backward = setup.lora_rank > 0 ? 1 : 2;
  return 1 + backward + (setup.checkpoint ? 1 : 0);
}

TrainingSpeed training_speed(const TrainingProfile& profile, const TrainingSetup& setup, double flops_per_s,
                             const Link& link, const TrainingAssumptions& assumptions) {
  TrainingSpeed speed;
  const double passes = passes_of(setup), batches = static_cast<double>(setup.accumulate);
  const double split = static_cast<double>(setup.tensor) * setup.pipeline;
  double micro = passes * profile.forward_flops / split / (flops_per_s * assumptions.efficiency);
  double kernels = passes * profile.nodes / setup.pipeline * assumptions.seconds_per_kernel;
  speed.compute_seconds = batches * micro;
  speed.kernel_seconds = batches * kernels;
  speed.bubble_seconds = (setup.pipeline - 1) * (micro + kernels);  // Narayanan et al. 2021, section 2.2.1
  const double alone = speed.compute_seconds + speed.kernel_seconds + speed.bubble_seconds;
  const int64_t replicas = replicas_of(setup);
  speed.communication_seconds =
      all_reduce_seconds(exchanged_bytes(setup, training_memory(profile, setup)), replicas, link);
  // Only the last micro-batch's backward overlaps the exchange of gradients.
  double backward = (micro + kernels) * (setup.lora_rank > 0 ? 1 : 2) / passes;
  speed.exposed_seconds =
      std::max((1 - assumptions.overlap) * speed.communication_seconds, speed.communication_seconds - backward);
  speed.step_seconds = alone + speed.exposed_seconds;
  speed.rows_per_step = profile.batch * batches * static_cast<double>(replicas);
  speed.rows_per_s = speed.rows_per_step / speed.step_seconds;
  speed.scaling = static_cast<double>(replicas) * alone / speed.step_seconds;
  return speed;
}

}  // namespace ridge::sizing
