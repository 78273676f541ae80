// A sweep over power limits as one page: it carries the object that `ridge power sweep --json` prints. See report/frame.h.
#pragma once

#include "report/frame.h"

namespace ridge::report {

std::string power_page(const Json& sweep, Language language);

}  // namespace ridge::report
