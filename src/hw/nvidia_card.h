// A card of NVIDIA's in this machine, as the catalogue has it.
#pragma once

#include "base/result.h"
#include "hw/catalogue.h"

namespace ridge::hw {

// Card `index` as CUDA counts them (CUDA_VISIBLE_DEVICES counts); where there is no CUDA, as NVML does. Errors: no driver, no such
// card (the message lists those that are there), or the catalogue has none that fits its name, multiprocessors and memory.
Result<CatalogueDevice> nvidia_card(int index);

}  // namespace ridge::hw
