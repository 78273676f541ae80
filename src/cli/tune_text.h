// The text output of `ridge tune`, of one model or several.
#pragma once

#include <string>
#include <vector>

#include "tune/regression.h"
#include "tune/share/co_located_tuning.h"
#include "tune/tuning.h"

namespace ridge::cli {

// The last line is the conclusion.
std::string tuning_text(const tune::Tuning& tuning);

std::string comparison_text(const std::vector<tune::FigureChange>& compared, const tune::Strictness& strictness);

// One table of all models, the shared measurement, and the conclusion.
std::string co_located_text(const tune::share::CoLocatedTuning& sharing);

}  // namespace ridge::cli
