#include "precision/matmuls.h"

#include <onnx/onnx_pb.h>

namespace ridge::precision {

Result<PassReport> quantise_matmuls(PassModel& model, const QuantiseOptions& options, const MatMulPass& pass) {
  PassReport report;
  const int count = model.graph().node_size();
  for (int i = 0; i < count; ++i) {
    std::optional<Site> site = heavy_site(model, i, options);
    if (!site || site->weight.empty() || !pass.fits(model.node(i))) continue;
    if (options.keep_nodes.count(model.node(i).name()) > 0) {
      ++report.kept_nodes;
      continue;
    }
    RIDGE_ASSIGN(const bool done, pass.replace(*site, report));
    ++(done ? report.changed_nodes : report.kept_nodes);
  }
  if (report.changed_nodes == 0)
    return Error{Code::kUnsupported, "no matrix multiplication with constant FP32 weights is left to quantise"};
  return report;
}

Result<WeightMatrix> weight_matrix(const PassModel& model, const Site& site) {
  const onnx::TensorProto& tensor = *model.constant(site.weight);
  RIDGE_ASSIGN(std::vector<float> values, model.values(tensor));
  if (site.weight_axis == 1) return WeightMatrix{std::move(values), tensor.dims(0), tensor.dims(1)};
  WeightMatrix matrix{std::vector<float>(values.size()), tensor.dims(1), tensor.dims(0)};
  for (int64_t column = 0; column < matrix.columns; ++column)
    for (int64_t row = 0; row < matrix.rows; ++row)
      matrix.values[static_cast<size_t>(row * matrix.columns + column)] =
          values[static_cast<size_t>(column * matrix.rows + row)];
  return matrix;
}

}  // namespace ridge::precision
