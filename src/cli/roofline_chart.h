// A roofline drawn with characters: log-log, arithmetic intensity to the right, FLOP/s upwards.
//
//   - the roof of the device: compute peak, and the slope of its memory; slopes of nearer memory levels dotted;
//   - the ridge point on the lower axis;
//   - layers at their bound (a layer whose data stays in a cache lies above the memory's slope), by their share of the
//     summed bounds: three sizes. Layers in one cell add up.
#pragma once

#include <string>

#include "predict/forecast.h"

namespace ridge::cli {

struct ChartForm {
  int columns = 80;  // of the terminal; 40 to 120 are used
  int rows = 16;     // of the drawing, without axis and legend
  bool unicode = true;
};

// Empty where there is nothing to draw: no layer has FLOPs, or the device's limits are not known.
std::string roofline_chart(const predict::Forecast& forecast, const ChartForm& form);

}  // namespace ridge::cli
