// A shared tuning for people: one table of all models, what was measured together, and what it comes to.
#pragma once

#include <string>

#include "tune/share/co_located_tuning.h"

namespace ridge::cli {

std::string co_located_text(const tune::share::CoLocatedTuning& sharing);

}  // namespace ridge::cli
