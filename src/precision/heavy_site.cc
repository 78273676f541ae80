#include <onnx/onnx_pb.h>

#include "precision/attributes.h"
#include "precision/sites.h"

namespace ridge::precision {
namespace {

bool is_activation(const PassModel& model, const std::string& tensor) {
  return !tensor.empty() && !model.wiring().is_constant(tensor) && model.type_of(tensor) == DataType::kFp32;
}

const onnx::TensorProto* float_constant(const PassModel& model, const onnx::NodeProto& node, int slot) {
  const onnx::TensorProto* tensor = slot < node.input_size() ? model.constant(node.input(slot)) : nullptr;
  return tensor && tensor->data_type() == onnx::TensorProto::FLOAT ? tensor : nullptr;
}

int64_t elements_of(const onnx::TensorProto& tensor) {
  int64_t count = 1;
  for (int64_t size : tensor.dims()) count *= size;
  return count;
}

// Fills in the bias; false for a bias that cannot become an integer constant with one value per channel.
bool take_bias(const PassModel& model, const onnx::NodeProto& node, int64_t channels, Site& site) {
  if (node.input_size() < 3 || node.input(2).empty()) return true;
  const onnx::TensorProto* bias = float_constant(model, node, 2);
  if (!bias || (elements_of(*bias) != channels && elements_of(*bias) != 1)) return false;
  // [N, 1] would be a value per row.
  if (bias->dims_size() > 0 && bias->dims(bias->dims_size() - 1) != elements_of(*bias)) return false;
  site.bias = node.input(2);
  return true;
}

std::optional<Site> convolution(const PassModel& model, const onnx::NodeProto& node, bool transposed) {
  const onnx::TensorProto* weight = float_constant(model, node, 1);
  if (!weight || weight->dims_size() < 3 || !is_activation(model, node.input(0))) return std::nullopt;
  Site site;
  site.activations = {0};
  site.weight = node.input(1);
  site.weight_axis = transposed ? 1 : 0;  // [in, out / group, …] and [out, in / group, …]
  site.quantises_output = !transposed;
  const int64_t groups = transposed ? integer_attribute(node, "group", 1) : 1;
  if (groups != 1 || !take_bias(model, node, weight->dims(site.weight_axis), site)) return std::nullopt;
  return site;
}

std::optional<Site> matrix_product(const PassModel& model, const onnx::NodeProto& node,
                                   const QuantiseOptions& options) {
  if (node.input_size() != 2 || !is_activation(model, node.input(0))) return std::nullopt;
  Site site;
  site.activations = {0};
  if (const onnx::TensorProto* weight = float_constant(model, node, 1)) {
    if (weight->dims_size() != 2) return std::nullopt;
    site.weight = node.input(1);
    site.weight_axis = 1;
    return site;
  }
  if (!options.activation_products || !is_activation(model, node.input(1))) return std::nullopt;
  site.activations.push_back(1);
  return site;
}

std::optional<Site> gemm(const PassModel& model, const onnx::NodeProto& node) {
  const onnx::TensorProto* weight = float_constant(model, node, 1);
  if (!weight || weight->dims_size() != 2 || !is_activation(model, node.input(0))) return std::nullopt;
  Site site;
  site.activations = {0};
  site.weight = node.input(1);
  site.weight_axis = integer_attribute(node, "transB", 0) != 0 ? 0 : 1;
  if (!take_bias(model, node, weight->dims(site.weight_axis), site)) return std::nullopt;
  return site;
}

}  // namespace

bool is_matrix_product(const onnx::NodeProto& node) {
  return node.op_type() == "MatMul" || (node.op_type() == "Gemm" && integer_attribute(node, "transA", 0) == 0);
}

std::optional<Site> heavy_site(PassModel& model, int index, const QuantiseOptions& options) {
  const onnx::NodeProto& node = model.node(index);
  const std::string& op = node.op_type();
  const bool named = options.operators.count(op) > 0;
  if (!node.domain().empty() || node.input_size() < 2 || (!options.operators.empty() && !named)) return std::nullopt;
  std::optional<Site> site;
  if (op == "Conv") site = convolution(model, node, false);
  if (op == "ConvTranspose" && named) site = convolution(model, node, true);
  if (op == "MatMul") site = matrix_product(model, node, options);
  if (op == "Gemm") site = gemm(model, node);
  if (!site) return std::nullopt;
  site->node = index;
  site->heavy = true;
  site->outputs = {node.output(0)};
  return site;
}

}  // namespace ridge::precision
