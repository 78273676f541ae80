// The models for calibrating a machine: generated, small files, each a chain of kernels as in real networks (a kernel's input
// was just written by the previous one; weights were last used a whole run ago). Sizes come from a seeded generator, so that no
// reference model is among them, and cover their range. Pure.
#pragma once

#include <string>
#include <vector>

#include "zoo/blueprint.h"

namespace ridge::predict {

struct CalibrationModel {
  std::string name;  // "convolutions 3, batch 2"
  zoo::Blueprint blueprint;
  int64_t batch = 1;  // for inputs whose first dimension is open
};

// In measuring order: the most important for most models first.
std::vector<CalibrationModel> calibration_suite();

// One convolution with kProbeFilters filters: the engine's padding shows the blocks of its layout.
constexpr int64_t kProbeFilters = 24;
zoo::Blueprint block_probe();

}  // namespace ridge::predict
