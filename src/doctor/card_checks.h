// Judges what a management library told of one card, whoever made it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "doctor/areas.h"
#include "gpu/card.h"
#include "machine/pci_gpus.h"

namespace ridge::doctor {

// A card with its maker, and so with the words and tools for it.
struct KnownCard {
  const gpu::Card& card;
  machine::GpuVendor vendor;
};

// What one card's library says of it, beside the address by which the PCI bus knows it (empty: not told).
struct CardFindings {
  std::string address;
  Findings findings;
};

// Name of a maker's management library, as origin of findings: "NVML".
std::string_view library_name(machine::GpuVendor vendor);

// A finding whose id and title name the card: NVIDIA's by its index ("gpu.0.link", "PCIe link of GPU 0 (…)"), others by
// their address ("gpu.0000:18:00.0.link", "PCIe link of … at 0000:18:00.0").
Finding about_card(const KnownCard& known, std::string_view id, std::string_view what);

Finding judge_answer(const KnownCard& known);
Finding judge_slowdown(const KnownCard& known);
Finding judge_ecc(const KnownCard& known);
Finding judge_card_link(const KnownCard& known);
Finding judge_use(const KnownCard& known);
Finding judge_power_limit(const KnownCard& known);

// From the findings of the bus and those of the libraries: one per matter. Where both speak of the same of a card (its
// link or errors), the worse verdict stays, in doubt the library's, which knows more.
Findings one_per_matter(Findings bus, std::vector<CardFindings> cards);

}  // namespace ridge::doctor
