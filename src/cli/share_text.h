// A shared tuning for people: one table of all models, what was measured together, and what it comes to.
#pragma once

#include <string>

#include "tune/share/sharing.h"

namespace ridge::cli {

std::string sharing_text(const tune::share::Sharing& sharing);

}  // namespace ridge::cli
