// Calibration data of a tensor: the range of values that its quantised form must represent. Collected by code that can
// run the model.
#pragma once

#include <map>
#include <string>

namespace ridge::precision {

struct TensorRange {
  double minimum = 0;  // in the tensor's own unit; minimum ≤ maximum, both finite
  double maximum = 0;
};

using TensorRanges = std::map<std::string, TensorRange>;  // by the tensor's name in the model

}  // namespace ridge::precision
