// A plan as a person reads it: summary, roofline, layers, curve; and the layers as CSV. Rendering only.
#pragma once

#include <string>

#include "cli/plan_study.h"

namespace ridge::cli {

std::string summary_text(const Study& study);  // with the curve over batches, if there is one
std::string layers_text(const Study& study);   // roofline and table; empty for --layers 0
std::string csv_text(const Study& study);      // the curve if there is one, else the layers; RFC 4180

}  // namespace ridge::cli
