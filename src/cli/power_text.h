// `ridge power` as text.
#pragma once

#include <string>

#include "power/overview.h"

namespace ridge::cli {

std::string power_text(const power::Overview& overview);

}  // namespace ridge::cli
