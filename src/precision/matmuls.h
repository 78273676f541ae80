// Shared by the passes that quantise only multiplications with constant FP32 weights: finding them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "precision/pass_model.h"
#include "precision/quantise.h"
#include "precision/sites.h"

namespace ridge::precision {

struct MatMulPass {
  std::function<bool(const onnx::NodeProto&)> fits;  // whether the pass has a form for this node
  // Writes that form into the model; false, with a note in the report, if the weights do not allow it.
  std::function<Result<bool>(const Site&, PassReport&)> replace;
};

// Every suitable multiplication that is not excluded. Error: none is left to quantise.
Result<PassReport> quantise_matmuls(PassModel& model, const QuantiseOptions& options, const MatMulPass& pass);

struct WeightMatrix {
  std::vector<float> values;  // [rows, columns]: rows are summed over
  int64_t rows = 0;
  int64_t columns = 0;
};
Result<WeightMatrix> weight_matrix(const PassModel& model, const Site& site);

}  // namespace ridge::precision
