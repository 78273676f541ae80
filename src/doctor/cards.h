// The cards of every maker as their libraries tell them, apart from the doctor's judgement: for whoever wants to know what
// cards there are, without hanging where a driver does.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "gpu/card.h"
#include "machine/pci_gpus.h"
#include "machine/tree.h"

namespace ridge::doctor {

// Asks the libraries, each in a child with this time limit; those of a maker without a card on the bus are not opened unless
// the environment names one. Call it while the process has one thread. The entries are those of the doctor's facts (facts.h).
machine::Tree gather_cards(Nanoseconds limit);

struct MakersSystem {
  machine::GpuVendor vendor = machine::GpuVendor::kNvidia;
  std::string library;  // "NVML"
  gpu::Reading<gpu::CardSystem> system;
};
// What a tree holds of them, NVIDIA first. Pure.
std::vector<MakersSystem> cards_in(const machine::Tree& tree);

}  // namespace ridge::doctor
