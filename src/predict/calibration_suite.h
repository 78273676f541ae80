// The models that a machine is calibrated with: generated, small in the file, each a chain of kernels as real networks chain
// them (what a kernel reads was just written by the one before; weights were last used a whole run ago). Sizes come from a
// seeded generator, so that no reference model is among them, and cover what such models use. Pure.
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

// In the order in which they are measured: what matters most to most models first.
std::vector<CalibrationModel> calibration_suite();

// One convolution with kProbeFilters filters: to how many an engine pads them shows the blocks of its layout.
constexpr int64_t kProbeFilters = 24;
zoo::Blueprint block_probe();

}  // namespace ridge::predict
