// A co-located tuning as text: one table of all models, the shared measurement, and the conclusion.
#pragma once

#include <string>

#include "tune/share/co_located_tuning.h"

namespace ridge::cli {

std::string co_located_text(const tune::share::CoLocatedTuning& sharing);

}  // namespace ridge::cli
