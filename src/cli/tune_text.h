// The text output of `ridge tune`, of one model or several.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tune/regression.h"
#include "tune/share/co_located_tuning.h"
#include "tune/tuning.h"

namespace ridge::cli {

// The first lines, as soon as they are known: the bound of a run of one row, and the untuned model.
std::string bound_text(const cost::Bound& bound, int threads);
std::string untuned_text(const measure::Measurement& m);
// The last line is the conclusion.
std::string tuning_text(const tune::Tuning& tuning);

std::string comparison_text(const std::vector<tune::FigureChange>& compared, const tune::Strictness& strictness,
                            const std::optional<machine::Disturbance>& disturbance);

// One table of all models, the shared measurement, and the conclusion.
std::string co_located_text(const tune::share::CoLocatedTuning& sharing);

}  // namespace ridge::cli
