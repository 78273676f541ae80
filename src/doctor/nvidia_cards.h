// Judges what NVIDIA's management library told of the cards. Pure.
#pragma once

#include "doctor/areas.h"
#include "doctor/card_checks.h"

namespace ridge::doctor {

struct NvidiaFindings {
  Findings of_system;  // the library itself, and what CUDA may see
  std::vector<CardFindings> of_cards;
};

// `on_bus`: an NVIDIA card is on the PCI bus, so that a missing library is a fault and not just another machine.
NvidiaFindings judge_nvidia_cards(const machine::Tree& tree, bool on_bus);

}  // namespace ridge::doctor
