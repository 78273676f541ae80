#include "precision/batch_norm.h"

#include <onnx/onnx_pb.h>

#include <cmath>

#include "precision/attributes.h"
#include "precision/tensors.h"

namespace ridge::precision {
namespace {

// Per output channel: y = factor · x + offset.
struct Scaling {
  std::vector<float> factors;
  std::vector<float> offsets;
};

bool all_constant(const PassModel& model, const onnx::NodeProto& node, int first) {
  for (int slot = first; slot < node.input_size(); ++slot) {
    const onnx::TensorProto* tensor = model.constant(node.input(slot));
    if (!node.input(slot).empty() && (!tensor || tensor->data_type() != onnx::TensorProto::FLOAT)) return false;
  }
  return true;
}

bool is_inference_norm(const PassModel& model, const onnx::NodeProto& node) {
  return node.op_type() == "BatchNormalization" && node.domain().empty() && node.input_size() == 5 &&
         node.output_size() == 1 && integer_attribute(node, "training_mode", 0) == 0 && all_constant(model, node, 1);
}

// The index of the convolution that produces the input for this normalisation alone; -1 if there is none.
int convolution_before(PassModel& model, const onnx::NodeProto& norm) {
  const Wiring& wiring = model.wiring();
  auto producer = wiring.producer.find(norm.input(0));
  if (producer == wiring.producer.end() || wiring.uses_of(norm.input(0)) != 1 || wiring.is_fixed(norm.input(0)))
    return -1;
  const onnx::NodeProto& conv = model.node(producer->second);
  const bool fits = conv.op_type() == "Conv" && conv.domain().empty() && conv.input_size() >= 2 &&
                    all_constant(model, conv, 1) && model.constant(conv.input(1)) != nullptr;
  return fits ? producer->second : -1;
}

Result<Scaling> scaling_of(const PassModel& model, const onnx::NodeProto& norm) {
  std::vector<std::vector<float>> parts;  // γ, β, μ, σ²
  for (int slot = 1; slot < 5; ++slot) {
    RIDGE_ASSIGN(std::vector<float> values, model.values(*model.constant(norm.input(slot))));
    parts.push_back(std::move(values));
  }
  const double epsilon = float_attribute(norm, "epsilon", 1e-5F);
  Scaling scaling;
  for (size_t c = 0; c < parts[0].size(); ++c) {
    if (c >= parts[1].size() || c >= parts[2].size() || c >= parts[3].size()) break;
    const double factor = parts[0][c] / std::sqrt(parts[3][c] + epsilon);
    scaling.factors.push_back(static_cast<float>(factor));
    scaling.offsets.push_back(static_cast<float>(parts[1][c] - parts[2][c] * factor));
  }
  return scaling;
}

// False if the sizes do not match, which the engine would also reject.
Result<bool> fold(PassModel& model, onnx::NodeProto& conv, const onnx::NodeProto& norm) {
  const onnx::TensorProto& weight = *model.constant(conv.input(1));
  const std::vector<int64_t> shape(weight.dims().begin(), weight.dims().end());
  RIDGE_ASSIGN(const Scaling scaling, scaling_of(model, norm));
  const size_t channels = scaling.factors.size();
  if (shape.empty() || shape[0] != static_cast<int64_t>(channels) || channels == 0) return false;
  RIDGE_ASSIGN(std::vector<float> values, model.values(weight));
  std::vector<float> bias(channels, 0);
  if (conv.input_size() > 2 && !conv.input(2).empty()) {
    RIDGE_ASSIGN(bias, model.values(*model.constant(conv.input(2))));
    if (bias.size() != channels) return false;
  }
  const size_t inner = values.size() / channels;
  for (size_t i = 0; i < values.size(); ++i) values[i] *= scaling.factors[i / inner];
  for (size_t c = 0; c < channels; ++c) bias[c] = bias[c] * scaling.factors[c] + scaling.offsets[c];

  const std::string weight_name =
      model.add_constant(conv.input(1) + "_folded", onnx::TensorProto::FLOAT, shape, bytes_of(values));
  const std::string bias_name = model.add_constant(norm.input(2) + "_folded", onnx::TensorProto::FLOAT,
                                                   {static_cast<int64_t>(channels)}, bytes_of(bias));
  conv.set_input(1, weight_name);
  if (conv.input_size() > 2) {
    conv.set_input(2, bias_name);
  } else {
    conv.add_input(bias_name);
  }
  conv.set_output(0, norm.output(0));
  return true;
}

}  // namespace

Result<int> fold_batch_norms(PassModel& model) {
  std::set<int> folded;
  for (int i = 0; i < model.graph().node_size(); ++i) {
    const onnx::NodeProto& norm = model.node(i);
    if (!is_inference_norm(model, norm)) continue;
    const int conv = convolution_before(model, norm);
    if (conv < 0) continue;
    RIDGE_ASSIGN(const bool done, fold(model, model.node(conv), norm));
    if (done) folded.insert(i);
  }
  model.remove_nodes(folded);
  model.rewire();
  return static_cast<int>(folded.size());
}

}  // namespace ridge::precision
