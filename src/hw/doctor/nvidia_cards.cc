#include "hw/doctor/nvidia_cards.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "gpu/card.h"
#include "gpu/slowdown.h"

namespace ridge::hw::doctor {
namespace {

using gpu::Card;
using gpu::SlowdownKind;

constexpr const char* kOrigin = "NVML";

std::string watts(int64_t milliwatts) { return fmt::format("{:.0f} W", static_cast<double>(milliwatts) / 1000); }
std::string bytes(int64_t value) { return format_bytes(static_cast<double>(value)); }

Finding about_card(const Card& card, std::string_view id, std::string_view what) {
  std::string name = card.name ? *card.name : "unknown card";
  return about("gpu", fmt::format("{}.{}", card.index, id), fmt::format("{} of GPU {} ({})", what, card.index, name),
               kOrigin);
}

Finding judge_answer(const Card& card) {
  Finding finding = about_card(card, "state", "state");
  if (!card.failure.empty())
    return fail(
        finding, card.failure,
        "drain the machine and reboot it; look for XID 79 in the kernel log, and check power, cooling and seating");
  std::string evidence = card.uuid ? *card.uuid : "answers";
  if (card.pci_address) evidence += " at " + *card.pci_address;
  if (card.temperature_c) evidence += fmt::format(", {} °C", *card.temperature_c);
  if (card.power_mw && card.power_limit_mw)
    evidence += fmt::format(", {} of {}", watts(*card.power_mw), watts(*card.power_limit_mw));
  if (card.sm_clock_mhz && card.sm_clock_max_mhz)
    evidence += fmt::format(", {} of {} MHz", *card.sm_clock_mhz, *card.sm_clock_max_mhz);
  return ok(finding, evidence);
}

Finding judge_slowdown(const Card& card) {
  Finding finding = about_card(card, "throttle", "slowdown");
  if (!card.slowdown_bits) return not_applicable(finding, card.slowdown_bits.reason);
  std::string evidence;
  SlowdownKind worst = SlowdownKind::kHarmless;
  for (const gpu::Slowdown& slowdown : gpu::decode_slowdown(static_cast<uint64_t>(*card.slowdown_bits))) {
    evidence += fmt::format("{}{}: {}", evidence.empty() ? "" : "; ", slowdown.name, slowdown.meaning);
    worst = std::max(worst, slowdown.kind);
  }
  if (evidence.empty()) evidence = "none: it runs as fast as it may";
  if (card.temperature_c && worst >= SlowdownKind::kThermal) evidence += fmt::format(" ({} °C)", *card.temperature_c);
  switch (worst) {
    case SlowdownKind::kHardware:
      return fail(
          finding, evidence,
          "heat: clean the air path and check fans; power brake: check the power supplies and the server's power cap");
    case SlowdownKind::kThermal:
      return warn(finding, evidence, "improve cooling, or lower the power limit until it stays below the temperature");
    case SlowdownKind::kPower: return ok(finding, evidence + "; usual under full load");
    case SlowdownKind::kHarmless: return ok(finding, evidence);
  }
  return finding;
}

Finding judge_ecc(const Card& card) {
  Finding finding = about_card(card, "ecc", "memory errors");
  if (!card.ecc_uncorrected && !card.row_remap_failed)
    return not_applicable(finding, "this card counts none: " + card.ecc_uncorrected.reason);
  auto count = [](const gpu::Reading<int64_t>& reading) {
    return reading ? std::to_string(*reading) : std::string("unknown");
  };
  std::string evidence =
      fmt::format("{} corrected and {} uncorrected since the driver started, {} and {} ever, {} rows remapped",
                  count(card.ecc_corrected), count(card.ecc_uncorrected), count(card.ecc_corrected_ever),
                  count(card.ecc_uncorrected_ever), count(card.rows_remapped));
  if (card.row_remap_failed && *card.row_remap_failed)
    return fail(finding, evidence + ", a remap failed", "replace the card: it has no spare rows left");
  if (card.ecc_uncorrected && *card.ecc_uncorrected > 0)
    return fail(finding, evidence,
                "end the processes on it and reset it (nvidia-smi --gpu-reset): what it computed may be wrong");
  if (card.row_remap_pending && *card.row_remap_pending)
    return warn(finding, evidence + ", a remap waits for a reset",
                "reset the card at the next chance (nvidia-smi --gpu-reset)");
  return ok(finding, evidence);
}

Finding judge_persistence(const Card& card) {
  Finding finding = about_card(card, "persistence", "persistence mode");
  if (!card.persistence) return not_applicable(finding, card.persistence.reason);
  if (*card.persistence) return ok(finding, "on");
  return warn(finding, "off: the driver lets go of the card whenever nobody uses it",
              "start nvidia-persistenced, or nvidia-smi -pm 1 as root: else every first use waits for the card to "
              "start, and clock settings are lost");
}

Finding judge_mode(const Card& card) {
  Finding finding = about_card(card, "compute_mode", "compute mode");
  if (!card.compute_mode) return not_applicable(finding, card.compute_mode.reason);
  switch (*card.compute_mode) {
    case 0: return ok(finding, "shared");
    case 2: return fail(finding, "prohibited: nothing may compute on it", "nvidia-smi -c 0 as root");
    default: return ok(finding, "exclusive: one process at a time");
  }
}

Finding judge_mig(const Card& card) {
  Finding finding = about_card(card, "mig", "MIG");
  if (!card.mig) return not_applicable(finding, card.mig.reason);
  if (!*card.mig) return ok(finding, "off: one process sees the whole card");
  int64_t instances = card.mig_instances ? *card.mig_instances : 0;
  if (instances == 0)
    return fail(finding, "on, without an instance: CUDA sees no device",
                "make instances (nvidia-smi mig -cgi ... -C), or switch MIG off (nvidia-smi -mig 0)");
  return ok(finding,
            fmt::format("on, {} instance{}: name one in CUDA_VISIBLE_DEVICES", instances, instances == 1 ? "" : "s"));
}

Finding judge_card_link(const Card& card) {
  Finding finding = about_card(card, "link", "PCIe link");
  if (!card.pcie_width || !card.pcie_width_max || !card.pcie_generation || !card.pcie_generation_max)
    return not_applicable(finding, card.pcie_width ? card.pcie_generation.reason : card.pcie_width.reason);
  std::string evidence = fmt::format("generation {} x{}, could be {} x{}", *card.pcie_generation, *card.pcie_width,
                                     *card.pcie_generation_max, *card.pcie_width_max);
  if (card.pcie_replays) evidence += fmt::format(", {} packets sent again", *card.pcie_replays);
  if (*card.pcie_width < *card.pcie_width_max)
    return warn(finding, evidence,
                "seat the card again, check the riser and choose a slot with all lanes: copies to the card take longer "
                "by the ratio");
  bool working = card.performance_state && *card.performance_state <= 2 && card.utilization_percent &&
                 *card.utilization_percent > 10;
  if (*card.pcie_generation < *card.pcie_generation_max && working)
    return warn(finding, evidence + ", while it works", "check the slot's generation in the firmware, and the riser");
  if (card.pcie_replays && *card.pcie_replays > 1000)
    return warn(finding, evidence, "look for PCIe errors in the kernel log; seat the card and its riser again");
  return ok(finding, evidence);
}

Finding judge_use(const Card& card) {
  Finding finding = about_card(card, "use", "other work");
  if (!card.memory_used_bytes || !card.memory_total_bytes)
    return not_applicable(finding, card.memory_used_bytes.reason);
  std::string evidence =
      fmt::format("{} of {} in use", bytes(*card.memory_used_bytes), bytes(*card.memory_total_bytes));
  if (card.utilization_percent) evidence += fmt::format(", {} % busy", *card.utilization_percent);
  for (const gpu::CardProcess& process : card.processes)
    evidence += fmt::format(", process {}{}", process.pid,
                            process.memory_bytes < 0 ? "" : " with " + bytes(process.memory_bytes));
  bool busy = card.utilization_percent && *card.utilization_percent > 10;
  if (*card.memory_used_bytes > *card.memory_total_bytes / 10 || busy)
    return warn(finding, evidence, "end it or wait before measuring; plan with the memory that is left");
  return ok(finding, evidence);
}

Finding judge_power_limit(const Card& card) {
  Finding finding = about_card(card, "power_limit", "power limit");
  if (!card.power_limit_mw || !card.power_limit_default_mw) return not_applicable(finding, card.power_limit_mw.reason);
  std::string evidence =
      fmt::format("{}, by default {}", watts(*card.power_limit_mw), watts(*card.power_limit_default_mw));
  if (card.power_limit_max_mw) evidence += ", at most " + watts(*card.power_limit_max_mw);
  // Handbook L18: a card at 71 to 78 % of its power loses 3 to 5 %, at 60 % 15 %.
  if (*card.power_limit_mw * 4 < *card.power_limit_default_mw * 3)
    return warn(finding, evidence,
                fmt::format("nvidia-smi -i {} -pl {} as root, unless power or heat asks for it", card.index,
                            *card.power_limit_default_mw / 1000));
  return ok(finding, evidence);
}

Findings judge_card(const Card& card) {
  if (!card.failure.empty()) return {judge_answer(card)};
  return {judge_answer(card), judge_slowdown(card),  judge_ecc(card), judge_persistence(card), judge_mode(card),
          judge_mig(card),    judge_card_link(card), judge_use(card), judge_power_limit(card)};
}

Finding judge_missing_library(const Tree& tree, bool on_bus) {
  Finding finding = about("gpu", "nvml", "NVIDIA's management library", "libnvidia-ml.so.1");
  std::string reason = reason_at(tree, entry::kNvml);
  if (reason.find("did not end") != std::string::npos)
    return fail(finding, reason,
                "the driver hangs: look at the kernel log for XID 119 or 79, then reset the card or reboot");
  if (reason.find("nvmlInit") != std::string::npos || reason.find("signal") != std::string::npos)
    return fail(finding, reason, "repair the driver before anything else: nothing can compute on this card");
  if (!on_bus) return not_applicable(finding, reason);
  return fail(finding, reason,
              "install the driver's libraries; in a container start it with --gpus all (or the device plugin), which "
              "mounts them");
}

Finding judge_visible_devices(const Tree& tree, size_t cards) {
  Finding finding = about("gpu", "visible", "cards visible to CUDA", "environment");
  std::optional<std::string> environment = text_at(tree, entry::kEnvironment);
  std::string value;
  bool set = false;
  std::string text = environment.value_or("") + "\n";
  if (size_t at = text.find("CUDA_VISIBLE_DEVICES="); at != std::string::npos) {
    set = true;
    value = text.substr(at + 21, text.find('\n', at) - at - 21);
  }
  if (!set) return ok(finding, fmt::format("all {}", cards));
  if (value.empty() || value == "-1" || value == "NoDevFiles")
    return fail(finding, "CUDA_VISIBLE_DEVICES='" + value + "' hides every card",
                "unset CUDA_VISIBLE_DEVICES, or name the cards to use");
  return ok(finding, "CUDA_VISIBLE_DEVICES=" + value);
}

}  // namespace

Findings judge_nvidia_cards(const Tree& tree, bool on_bus) {
  Result<Json> json = json_at(tree, entry::kNvml);
  if (!json) return {judge_missing_library(tree, on_bus)};
  Result<gpu::NvidiaSystem> system = gpu::nvidia_system_from_json(*json);
  if (!system)
    return {not_applicable(about("gpu", "nvml", "NVIDIA's management library", kOrigin), system.error().message)};
  Findings findings;
  if (system->cards.empty())
    findings.push_back(fail(about("gpu", "nvml", "NVIDIA's management library", kOrigin),
                            "the driver runs and has no card",
                            "look at the kernel log; in a container give it the device files (--gpus all)"));
  else
    findings.push_back(judge_visible_devices(tree, system->cards.size()));
  for (const Card& card : system->cards)
    for (Finding& finding : judge_card(card)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace ridge::hw::doctor
