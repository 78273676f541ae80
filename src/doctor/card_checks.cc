#include "doctor/card_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "gpu/slowdown.h"

namespace ridge::doctor {
namespace {

using gpu::Card;
using gpu::SlowdownKind;

constexpr int64_t kHeatMargin = 5;  // [°C] below the critical temperature, as for what amdgpu tells through /sys

std::string watts(int64_t milliwatts) { return fmt::format("{:.0f} W", static_cast<double>(milliwatts) / 1000); }
std::string bytes(int64_t value) { return format_bytes(static_cast<double>(value)); }

std::string address_of(const Card& card) { return card.pci_address ? *card.pci_address : ""; }

// How to reset a card, as root, with the maker's own tool.
std::string reset_command(const KnownCard& known) {
  switch (known.vendor) {
    case machine::GpuVendor::kNvidia: return "nvidia-smi --gpu-reset";
    case machine::GpuVendor::kAmd: return fmt::format("rocm-smi --gpureset -d {}", known.card.index);
    case machine::GpuVendor::kIntel: return fmt::format("xpu-smi config -d {} --reset", known.card.index);
  }
  return "";
}

std::string limit_command(const KnownCard& known) {
  int64_t limit_w = *known.card.power_limit_default_mw / 1000;
  switch (known.vendor) {
    case machine::GpuVendor::kNvidia: return fmt::format("nvidia-smi -i {} -pl {}", known.card.index, limit_w);
    case machine::GpuVendor::kAmd:
      return fmt::format("rocm-smi -d {} --setpoweroverdrive {}", known.card.index, limit_w);
    case machine::GpuVendor::kIntel:
      return fmt::format("xpu-smi config -d {} --powerlimit {}", known.card.index, limit_w);
  }
  return "";
}

std::string remedy_of_silence(machine::GpuVendor vendor) {
  switch (vendor) {
    case machine::GpuVendor::kNvidia:
      return "drain the machine and reboot it; look for XID 79 in the kernel log, and check power, cooling and seating";
    case machine::GpuVendor::kAmd:
      return "drain the machine and reboot it; look for lines of amdgpu in the kernel log (ring timeout, GPU reset), "
             "and "
             "check power, cooling and seating";
    case machine::GpuVendor::kIntel:
      return "drain the machine and reboot it; look for lines of i915 or xe in the kernel log (wedged, GPU HANG), and "
             "check power, cooling and seating";
  }
  return "";
}

bool too_hot(const KnownCard& known) {
  const Card& card = known.card;
  return known.vendor != machine::GpuVendor::kNvidia && card.temperature_c && card.slowdown_temperature_c &&
         *card.temperature_c > *card.slowdown_temperature_c - kHeatMargin;
}

std::string count_text(const gpu::Reading<int64_t>& reading) {
  return reading ? std::to_string(*reading) : std::string("unknown");
}

// "12 corrected and 2 uncorrected since the driver started, 240 and 3 ever, 1 rows remapped"
std::string health_text(const KnownCard& known) {
  const Card& card = known.card;
  std::string text = fmt::format("{} corrected and {} uncorrected since the driver started",
                                 count_text(card.ecc_corrected), count_text(card.ecc_uncorrected));
  if (known.vendor == machine::GpuVendor::kNvidia || card.ecc_uncorrected_ever)
    text += fmt::format(", {} and {} ever", count_text(card.ecc_corrected_ever), count_text(card.ecc_uncorrected_ever));
  if (known.vendor == machine::GpuVendor::kNvidia)
    text += fmt::format(", {} rows remapped", count_text(card.rows_remapped));
  else if (card.rows_remapped)
    text += fmt::format(", {} pages retired", count_text(card.rows_remapped));
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

Finding about_card(const KnownCard& known, std::string_view id, std::string_view what) {
  const Card& card = known.card;
  std::string name = card.name ? *card.name : "unknown card";
  const std::string_view origin = library_name(known.vendor);
  if (known.vendor == machine::GpuVendor::kNvidia)
    return about("gpu", fmt::format("{}.{}", card.index, id), fmt::format("{} of GPU {} ({})", what, card.index, name),
                 origin);
  std::string place = address_of(card);
  if (place.empty()) place = fmt::format("{} {}", machine::vendor_name(known.vendor), card.index);
  return about("gpu", fmt::format("{}.{}", place, id), fmt::format("{} of {} at {}", what, name, place), origin);
}

Finding judge_answer(const KnownCard& known) {
  const Card& card = known.card;
  Finding finding = about_card(known, "state", "state");
  if (!card.failure.empty()) return fail(finding, card.failure, remedy_of_silence(known.vendor));
  std::string evidence = card.uuid ? *card.uuid : "answers";
  if (card.pci_address) evidence += " at " + *card.pci_address;
  if (card.temperature_c) evidence += fmt::format(", {} °C", *card.temperature_c);
  if (card.power_mw && card.power_limit_mw)
    evidence += fmt::format(", {} of {}", watts(*card.power_mw), watts(*card.power_limit_mw));
  if (card.sm_clock_mhz && card.sm_clock_max_mhz)
    evidence += fmt::format(", {} of {} MHz", *card.sm_clock_mhz, *card.sm_clock_max_mhz);
  if (card.partition) evidence += ", partition " + *card.partition;
  if (too_hot(known))
    return warn(finding, evidence + fmt::format(" (critical {} °C)", *card.slowdown_temperature_c),
                "look at fans and inlet air");
  return ok(finding, evidence);
}

Finding judge_slowdown(const KnownCard& known) {
  const Card& card = known.card;
  Finding finding = about_card(known, "throttle", "slowdown");
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

Finding judge_ecc(const KnownCard& known) {
  const Card& card = known.card;
  Finding finding = about_card(known, "ecc", "memory errors");
  if (!card.ecc_uncorrected && !card.row_remap_failed)
    return not_applicable(finding, "this card counts none: " + card.ecc_uncorrected.reason);
  std::string evidence = health_text(known);
  if (card.row_remap_failed && *card.row_remap_failed)
    return fail(finding, evidence + ", a remap failed", "replace the card: it has no spare rows left");
  if (card.ecc_uncorrected && *card.ecc_uncorrected > 0)
    return fail(
        finding, evidence,
        fmt::format("end the processes on it and reset it ({}): what it computed may be wrong", reset_command(known)));
  if (card.row_remap_pending && *card.row_remap_pending)
    return warn(finding,
                evidence + (known.vendor == machine::GpuVendor::kNvidia ? ", a remap waits for a reset"
                                                                        : ", a repair waits for a reset"),
                fmt::format("reset the card at the next chance ({})", reset_command(known)));
  return ok(finding, evidence);
}

Finding judge_card_link(const KnownCard& known) {
  const Card& card = known.card;
  Finding finding = about_card(known, "link", "PCIe link");
  if (!card.pcie_width || !card.pcie_width_max || !card.pcie_generation || !card.pcie_generation_max)
    return not_applicable(finding, card.pcie_width ? card.pcie_generation.reason : card.pcie_width.reason);
  std::string evidence = fmt::format("generation {} x{}, could be {} x{}", *card.pcie_generation, *card.pcie_width,
                                     *card.pcie_generation_max, *card.pcie_width_max);
  if (card.pcie_replays) evidence += fmt::format(", {} packets sent again", *card.pcie_replays);
  if (*card.pcie_width < *card.pcie_width_max)
    return warn(finding, evidence,
                "seat the card again, check the riser and choose a slot with all lanes: copies to the card take longer "
                "by the ratio");
  // The speed sinks while a card is idle. Only NVIDIA tells by a state of its own whether it is.
  bool awake =
      known.vendor == machine::GpuVendor::kNvidia ? card.performance_state && *card.performance_state <= 2 : true;
  bool working = awake && card.utilization_percent && *card.utilization_percent > 10;
  if (*card.pcie_generation < *card.pcie_generation_max && working)
    return warn(finding, evidence + ", while it works", "check the slot's generation in the firmware, and the riser");
  if (card.pcie_replays && *card.pcie_replays > 1000)
    return warn(finding, evidence, "look for PCIe errors in the kernel log; seat the card and its riser again");
  return ok(finding, evidence);
}

Finding judge_use(const KnownCard& known) {
  const Card& card = known.card;
  Finding finding = about_card(known, "use", "other work");
  if (!card.memory_used_bytes) return not_applicable(finding, card.memory_used_bytes.reason);
  std::string evidence = bytes(*card.memory_used_bytes);
  if (card.memory_total_bytes) evidence += " of " + bytes(*card.memory_total_bytes);
  evidence += " in use";
  if (card.utilization_percent) evidence += fmt::format(", {} % busy", *card.utilization_percent);
  for (const gpu::CardProcess& process : card.processes)
    evidence += fmt::format(", process {}{}", process.pid,
                            process.memory_bytes < 0 ? "" : " with " + bytes(process.memory_bytes));
  bool busy = card.utilization_percent && *card.utilization_percent > 10;
  const bool full = card.memory_total_bytes && *card.memory_used_bytes > *card.memory_total_bytes / 10;
  if (full || busy)
    return warn(finding, evidence, "end it or wait before measuring; plan with the memory that is left");
  return ok(finding, evidence);
}

Finding judge_power_limit(const KnownCard& known) {
  const Card& card = known.card;
  Finding finding = about_card(known, "power_limit", "power limit");
  if (!card.power_limit_mw || !card.power_limit_default_mw)
    return not_applicable(finding,
                          card.power_limit_mw ? card.power_limit_default_mw.reason : card.power_limit_mw.reason);
  std::string evidence =
      fmt::format("{}, by default {}", watts(*card.power_limit_mw), watts(*card.power_limit_default_mw));
  if (card.power_limit_max_mw) evidence += ", at most " + watts(*card.power_limit_max_mw);
  // Handbook L18: a card at 71 to 78 % of its power loses 3 to 5 %, at 60 % 15 %.
  if (*card.power_limit_mw * 4 < *card.power_limit_default_mw * 3)
    return warn(finding, evidence, limit_command(known) + " as root, unless power or heat asks for it");
  return ok(finding, evidence);
}

Findings one_per_matter(Findings bus, std::vector<CardFindings> cards) {
  Findings from_libraries;
  for (CardFindings& card : cards)
    for (Finding& finding : card.findings) {
      const std::string id = fmt::format("gpu.{}.{}", card.address, matter_of(finding));
      auto same = std::find_if(bus.begin(), bus.end(), [&](const Finding& other) { return other.id == id; });
      if (same != bus.end() && same->verdict < finding.verdict) continue;
      if (same != bus.end()) bus.erase(same);
      from_libraries.push_back(std::move(finding));
    }
  bus.insert(bus.end(), std::make_move_iterator(from_libraries.begin()), std::make_move_iterator(from_libraries.end()));
  return bus;
}

}  // namespace ridge::doctor
