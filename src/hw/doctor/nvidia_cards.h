// Judges what NVIDIA's management library told of the cards. Pure.
#pragma once

#include "hw/doctor/areas.h"

namespace ridge::hw::doctor {

// `on_bus`: an NVIDIA card is on the PCI bus, so that a missing library is a fault and not just another machine.
Findings judge_nvidia_cards(const Tree& tree, bool on_bus);

}  // namespace ridge::hw::doctor
