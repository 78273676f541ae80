#include "precision/qdq_constants.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "precision/attributes.h"
#include "precision/tensors.h"

namespace ridge::precision {
namespace {

using Shape64 = std::vector<int64_t>;

// A weight as shared by nodes: the same values, channels and factor.
using WeightKey = std::tuple<std::string, int, float>;

struct QuantisedWeight {
  std::string dequantised;    // read by nodes
  std::vector<float> scales;  // one, or one per channel
};

Shape64 shape_in(const onnx::TensorProto& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

ChannelLayout layout_of(const Shape64& shape, int axis, bool per_channel) {
  ChannelLayout layout;
  for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
    const int64_t size = shape[static_cast<size_t>(i)];
    if (per_channel && i == axis) {
      layout.channels = size;
    } else if (per_channel && i < axis) {
      layout.outer *= size;
    } else {
      layout.inner *= size;
    }
  }
  return layout;
}

class Constants {
 public:
  Constants(PassModel& model, const std::map<std::string, Affine>& activations, const QuantiseOptions& options)
      : model_(model), activations_(activations), options_(options) {}

  Status quantise(const Sites& sites) {
    for (const Site& site : sites.all)
      if (!site.weight.empty()) RIDGE_TRY(prepare(site));
    for (const Site& site : sites.all)
      if (!site.weight.empty()) RIDGE_TRY(replace(site));
    return {};
  }

 private:
  WeightKey key_of(const Site& site) {
    const onnx::NodeProto& node = model_.node(site.node);
    const bool gemm = node.op_type() == "Gemm";
    return {site.weight, site.weight_axis, gemm ? float_attribute(node, "alpha", 1) : 1.0F};
  }

  int64_t channels_of(const Site& site) const {
    return options_.per_channel ? model_.constant(site.weight)->dims(site.weight_axis) : 1;
  }

  float activation_scale(const Site& site) {
    return activations_.at(model_.node(site.node).input(site.activations[0])).scale;
  }

  // The bias with beta in it, one value per output channel.
  Result<std::vector<float>> bias_of(const Site& site) {
    const onnx::NodeProto& node = model_.node(site.node);
    RIDGE_ASSIGN(std::vector<float> values, model_.values(*model_.constant(site.bias)));
    const auto outputs = static_cast<size_t>(model_.constant(site.weight)->dims(site.weight_axis));
    if (values.size() == 1) values.resize(outputs, values[0]);
    const float beta = node.op_type() == "Gemm" ? float_attribute(node, "beta", 1) : 1.0F;
    for (float& value : values) value *= beta;
    return values;
  }

  // Weight scales below these would make a bias of this site overflow 32 bits.
  Status prepare(const Site& site) {
    std::vector<float>& least = least_scales_[key_of(site)];
    least.resize(static_cast<size_t>(channels_of(site)), 0);
    if (site.bias.empty()) return {};
    RIDGE_ASSIGN(const std::vector<float> bias, bias_of(site));
    const double most = static_cast<double>(activation_scale(site)) * std::numeric_limits<int32_t>::max();
    for (size_t i = 0; i < bias.size(); ++i) {
      float& scale = least[least.size() == 1 ? 0 : i];
      scale =
          std::max(scale, static_cast<float>(std::abs(bias[i]) / most * 1.0001));  // rounding must not cross the limit
    }
    return {};
  }

  Result<const QuantisedWeight*> weight_of(const Site& site) {
    const WeightKey key = key_of(site);
    if (auto known = weights_.find(key); known != weights_.end()) return &known->second;
    const onnx::TensorProto& tensor = *model_.constant(site.weight);
    const Shape64 shape = shape_in(tensor);
    RIDGE_ASSIGN(std::vector<float> values, model_.values(tensor));
    for (float& value : values) value *= std::get<2>(key);
    const ChannelLayout layout = layout_of(shape, site.weight_axis, options_.per_channel);
    Int8Weights quantised = quantise_int8(values, layout, options_.reduce_range, least_scales_[key]);

    const std::string name =
        model_.add_constant(site.weight + "_quantized", onnx::TensorProto::INT8, shape, bytes_of(quantised.values));
    const Shape64 scale_shape = options_.per_channel ? Shape64{layout.channels} : Shape64{};
    const std::string scale =
        model_.add_constant(site.weight + "_scale", onnx::TensorProto::FLOAT, scale_shape, bytes_of(quantised.scales));
    const std::string zero = model_.add_constant(site.weight + "_zero_point", onnx::TensorProto::INT8, scale_shape,
                                                 std::string(quantised.scales.size(), '\0'));
    const int64_t axis = options_.per_channel ? site.weight_axis : -1;
    QuantisedWeight made = {add_dequantise(model_, site.weight, name, scale, zero, axis), std::move(quantised.scales)};
    return &weights_.emplace(key, std::move(made)).first->second;
  }

  Status replace(const Site& site) {
    RIDGE_ASSIGN(const QuantisedWeight* weight, weight_of(site));
    onnx::NodeProto& node = model_.node(site.node);
    std::string bias;
    if (!site.bias.empty()) {
      RIDGE_ASSIGN(bias, dequantised_bias(site, weight->scales));
    }
    node.set_input(1, weight->dequantised);
    if (!bias.empty()) node.set_input(2, bias);
    if (node.op_type() == "Gemm") {
      set_float(node, "alpha", 1);
      set_float(node, "beta", 1);
    }
    return {};
  }

  Result<std::string> dequantised_bias(const Site& site, const std::vector<float>& weight_scales) {
    RIDGE_ASSIGN(const std::vector<float> values, bias_of(site));
    std::vector<float> scales;
    constexpr float kLeast = std::numeric_limits<float>::min();
    for (float scale : weight_scales) scales.push_back(std::max(scale * activation_scale(site), kLeast));
    std::vector<float> each = scales;
    if (each.size() == 1) each.resize(values.size(), scales[0]);
    const Shape64 scale_shape = options_.per_channel ? Shape64{static_cast<int64_t>(scales.size())} : Shape64{};
    const std::string name =
        model_.add_constant(site.bias + "_quantized", onnx::TensorProto::INT32, {static_cast<int64_t>(values.size())},
                            bytes_of(quantise_int32(values, each)));
    const std::string scale =
        model_.add_constant(site.bias + "_scale", onnx::TensorProto::FLOAT, scale_shape, bytes_of(scales));
    const std::string zero = model_.add_constant(site.bias + "_zero_point", onnx::TensorProto::INT32, scale_shape,
                                                 std::string(scales.size() * sizeof(int32_t), '\0'));
    return add_dequantise(model_, site.bias, name, scale, zero, options_.per_channel ? 0 : -1);
  }

  PassModel& model_;
  const std::map<std::string, Affine>& activations_;
  const QuantiseOptions& options_;
  std::map<WeightKey, std::vector<float>> least_scales_;
  std::map<WeightKey, QuantisedWeight> weights_;
};

}  // namespace

std::string add_dequantise(PassModel& model, const std::string& tensor, const std::string& quantised,
                           const std::string& scale, const std::string& zero_point, int64_t axis) {
  onnx::NodeProto& node = model.add_node("DequantizeLinear", tensor + "_DequantizeLinear",
                                         {quantised, scale, zero_point}, model.unused_name(tensor + "_dequantized"));
  if (axis >= 0) set_integer(node, "axis", axis);
  return node.output(0);
}

Status quantise_constants(PassModel& model, const Sites& sites, const std::map<std::string, Affine>& activations,
                          const QuantiseOptions& options) {
  return Constants(model, activations, options).quantise(sites);
}

}  // namespace ridge::precision
