// What NVML tells beyond a card's state: how cards meet on the bus, and the slices (MIG) of one. Private to gpu/.
#pragma once

#include <vector>

#include "gpu/card.h"
#include "gpu/nvml/library.h"

namespace ridge::gpu::nvml {

// Name of nvmlDeviceArchitecture_t: 9 → "Hopper".
Reading<std::string> architecture_name(const Reading<int64_t>& number);

std::vector<CardSlice> slices_of(const Library& library, Device card);
// Of each two of `count` cards; empty where the library is too old to tell.
std::vector<CardPair> pairs_of(const Library& library, int count);

}  // namespace ridge::gpu::nvml
