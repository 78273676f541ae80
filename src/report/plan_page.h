// A plan as one page: it carries the object that `ridge plan --json` prints. See report/frame.h.
#pragma once

#include "report/frame.h"

namespace ridge::report {

std::string plan_page(const Json& plan, Language language);

}  // namespace ridge::report
