// The error of predictions for unseen models: each sample of a calibration is predicted from the others, and compared with its
// measured run. Pure; takes about a second for a whole suite, so it runs at calibration.
#pragma once

#include <vector>

#include "predict/efficiency.h"
#include "predict/kernel_work.h"

namespace ridge::predict {

struct HoldOutResult {
  std::vector<double> ratios;  // predicted over measured run, per sample
  double error = 0;            // the relative error that two of three samples stay within
};

HoldOutResult held_out(const Calibration& calibration, const KernelDevice& device);

}  // namespace ridge::predict
