// Judges what the management libraries of AMD and Intel told of their cards. Pure.
#pragma once

#include "doctor/card_checks.h"

namespace ridge::doctor {

struct LibraryFindings {
  Findings of_library;  // why it told nothing; empty while it did, or was never asked
  std::vector<CardFindings> of_cards;
};

// `on_bus`: a card of that maker is on the PCI bus. A missing library is no fault: /sys tells most of it.
LibraryFindings judge_library_cards(const machine::Tree& tree, machine::GpuVendor vendor, bool on_bus);

}  // namespace ridge::doctor
