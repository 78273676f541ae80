// The GPUs of a machine and how they are joined, as text for `ridge doctor`.
#pragma once

#include <string>

#include "doctor/inventory.h"

namespace ridge::cli {

// Empty without GPUs; the matrix only where there are two or more.
std::string gpus_text(const doctor::Inventory& inventory);

}  // namespace ridge::cli
