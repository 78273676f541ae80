// The text output of `ridge tune`.
#pragma once

#include <string>
#include <vector>

#include "tune/regression.h"
#include "tune/tuning.h"

namespace ridge::cli {

// The last line is the conclusion.
std::string tuning_text(const tune::Tuning& tuning);

std::string comparison_text(const std::vector<tune::FigureChange>& compared, const tune::Strictness& strictness);

}  // namespace ridge::cli
