// A tuning result as one page: it carries the object that `ridge tune --json` prints and tuning.json holds. See
// report/frame.h.
#pragma once

#include "report/frame.h"

namespace ridge::report {

std::string tune_page(const Json& tuning, Language language);

}  // namespace ridge::report
