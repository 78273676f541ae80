// A ledger of claims as one page: it carries the object that `ridge lab --json` prints. See report/frame.h.
#pragma once

#include "report/frame.h"

namespace ridge::report {

std::string lab_page(const Json& ledger, Language language);

}  // namespace ridge::report
