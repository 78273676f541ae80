#include "doctor/library_cards.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ridge::doctor {
namespace {

using gpu::Card;

const char* entry_of(machine::GpuVendor vendor) {
  return vendor == machine::GpuVendor::kAmd ? entry::kAmdCards : entry::kIntelCards;
}

Finding about_library(machine::GpuVendor vendor) {
  const char* id = vendor == machine::GpuVendor::kAmd ? "amd.library" : "intel.library";
  return about("gpu", id, fmt::format("{}'s management library", machine::vendor_name(vendor)), library_name(vendor));
}

Findings judge_missing(const machine::Tree& tree, machine::GpuVendor vendor, bool on_bus) {
  if (!tree.missing.contains(entry_of(vendor))) return {};  // a recording from before it was asked
  std::string reason = machine::reason_at(tree, entry_of(vendor));
  const bool hangs = reason.find("did not end") != std::string::npos;
  const bool refuses = reason.find("rsmi_init") != std::string::npos ||
                       reason.find("amdsmi_init") != std::string::npos || reason.find("zesInit") != std::string::npos ||
                       reason.find("zeInit") != std::string::npos || reason.find("signal") != std::string::npos;
  const char* module = vendor == machine::GpuVendor::kAmd ? "amdgpu" : "i915 or xe";
  if (hangs)
    return {fail(about_library(vendor), reason,
                 fmt::format("the driver hangs: look for lines of {} in the kernel log, then reset the card or reboot",
                             module))};
  if (on_bus && refuses)
    return {warn(about_library(vendor), reason,
                 fmt::format("load the driver ({}) and give the user, or the container, access to /dev/dri{}", module,
                             vendor == machine::GpuVendor::kAmd ? " and /dev/kfd" : ""))};
  if (!on_bus && !refuses) return {};
  return {not_applicable(about_library(vendor), reason)};
}

Finding judge_level(const KnownCard& known) {
  Finding finding = about_card(known, "level", "performance level");
  const gpu::Reading<std::string>& level = known.card.performance_level;
  if (!level) return not_applicable(finding, level.reason);
  if (*level == "auto" || *level == "high" || *level == "determinism") return ok(finding, *level);
  return warn(finding, *level + ": somebody holds the clocks",
              fmt::format("rocm-smi -d {} --setperflevel auto, as root", known.card.index));
}

Findings judge_card(const KnownCard& known) {
  if (!known.card.failure.empty()) return {judge_answer(known)};
  Findings findings = {judge_answer(known),    judge_slowdown(known), judge_ecc(known),
                       judge_card_link(known), judge_use(known),      judge_power_limit(known)};
  if (known.vendor == machine::GpuVendor::kAmd) findings.push_back(judge_level(known));
  return findings;
}

}  // namespace

LibraryFindings judge_library_cards(const machine::Tree& tree, machine::GpuVendor vendor, bool on_bus) {
  Result<Json> json = machine::json_at(tree, entry_of(vendor));
  if (!json) return {judge_missing(tree, vendor, on_bus), {}};
  Result<gpu::CardSystem> system = gpu::card_system_from_json(*json);
  if (!system) return {{not_applicable(about_library(vendor), system.error().message)}, {}};
  LibraryFindings findings;
  if (system->cards.empty() && on_bus)
    findings.of_library.push_back(
        not_applicable(about_library(vendor),
                       fmt::format("{} runs and has no card: in a container give it /dev/dri", system->library)));
  for (const Card& card : system->cards)
    findings.of_cards.push_back({card.pci_address ? *card.pci_address : "", judge_card({card, vendor})});
  return findings;
}

}  // namespace ridge::doctor
