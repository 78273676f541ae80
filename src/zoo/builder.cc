#include "zoo/builder.h"

#include <fmt/format.h>

#include <cmath>

namespace ridge::zoo {
namespace {

std::string joined(const std::vector<int64_t>& values) {
  std::string text;
  for (int64_t value : values) text += "_" + std::to_string(value);
  return text;
}

float deviation_for(float gain, int64_t fan_in) { return gain / std::sqrt(static_cast<float>(fan_in)); }

}  // namespace

GraphBuilder::GraphBuilder(std::string name, int64_t opset) {
  blueprint_.name = std::move(name);
  blueprint_.opset = opset;
}

Value GraphBuilder::input(const std::string& name, DataType type, std::vector<Dimension> shape) {
  blueprint_.inputs.push_back({name, type, std::move(shape)});
  return name;
}

void GraphBuilder::output(const Value& value, DataType type, std::vector<Dimension> shape) {
  blueprint_.outputs.push_back({value, type, std::move(shape)});
}

Value GraphBuilder::weight(const std::string& name, Shape shape, float deviation, float mean, bool parameter) {
  blueprint_.weights.push_back({name, std::move(shape), mean, deviation, parameter});
  return name;
}

Value GraphBuilder::constant(const std::string& name, Shape shape,
                             std::variant<std::vector<int64_t>, std::vector<float>> values, bool parameter) {
  blueprint_.constants.push_back({name, std::move(shape), std::move(values), parameter});
  return name;
}

Value GraphBuilder::integers(const std::vector<int64_t>& values) {
  std::string name = "constant_integers" + joined(values);
  if (shared_.insert(name).second) constant(name, {static_cast<int64_t>(values.size())}, values, false);
  return name;
}

Value GraphBuilder::integer(int64_t value) {
  std::string name = "constant_integer_" + std::to_string(value);
  if (shared_.insert(name).second) constant(name, {}, std::vector<int64_t>{value}, false);
  return name;
}

Value GraphBuilder::real(float value) {
  std::string name = fmt::format("constant_real_{}", value);
  if (shared_.insert(name).second) constant(name, {}, std::vector<float>{value}, false);
  return name;
}

Value GraphBuilder::table(const std::string& name, Shape shape, std::vector<float> values, bool parameter) {
  return constant(name, std::move(shape), std::move(values), parameter);
}

Value GraphBuilder::integer_table(const std::string& name, Shape shape, std::vector<int64_t> values) {
  return constant(name, std::move(shape), std::move(values), false);
}

std::string GraphBuilder::unique(const std::string& name) {
  int earlier = used_[name]++;
  return earlier == 0 ? name : name + "_" + std::to_string(earlier);
}

Value GraphBuilder::node(const std::string& path, const std::string& op, std::vector<Value> inputs,
                         Attributes attributes, const Value& result) {
  std::string name = unique("/" + path + "/" + op);
  Value made = result.empty() ? name + "_output_0" : result;
  blueprint_.operations.push_back({name, op, std::move(inputs), {made}, std::move(attributes)});
  return made;
}

std::vector<Value> GraphBuilder::nodes(const std::string& path, const std::string& op, std::vector<Value> inputs,
                                       size_t outputs, Attributes attributes) {
  std::string name = unique("/" + path + "/" + op);
  std::vector<Value> made;
  for (size_t i = 0; i < outputs; ++i) made.push_back(name + "_output_" + std::to_string(i));
  blueprint_.operations.push_back({name, op, std::move(inputs), made, std::move(attributes)});
  return made;
}

Value GraphBuilder::add(const std::string& path, const Value& a, const Value& b, const Value& result) {
  return node(path, "Add", {a, b}, {}, result);
}

Value GraphBuilder::mul(const std::string& path, const Value& a, const Value& b) { return node(path, "Mul", {a, b}); }

Value GraphBuilder::reshape(const std::string& path, const Value& x, const std::vector<int64_t>& shape) {
  return node(path, "Reshape", {x, integers(shape)});
}

Value GraphBuilder::transpose(const std::string& path, const Value& x, const std::vector<int64_t>& order) {
  return node(path, "Transpose", {x}, {{"perm", order}});
}

Value GraphBuilder::concat(const std::string& path, std::vector<Value> parts, int64_t axis, const Value& result) {
  return node(path, "Concat", std::move(parts), {{"axis", axis}}, result);
}

Value GraphBuilder::silu(const std::string& path, const Value& x) { return mul(path, x, node(path, "Sigmoid", {x})); }

Value GraphBuilder::gelu(const std::string& path, const Value& x) {
  Value scaled = node(path, "Div", {x, real(1.4142135F)});
  Value shifted = add(path, node(path, "Erf", {scaled}), real(1));
  return mul(path, mul(path, x, shifted), real(0.5F));
}

Value GraphBuilder::linear(const std::string& path, const Value& x, int64_t in, int64_t out, float deviation,
                           bool bias) {
  Value product = node(path, "MatMul", {x, weight(path + ".weight", {in, out}, deviation)});
  if (!bias) return product;
  return add(path, weight(path + ".bias", {out}, 0.02F), product);
}

Value GraphBuilder::gemm(const std::string& path, const Value& x, int64_t in, int64_t out, float gain,
                         const Value& result) {
  Value w = weight(path + ".weight", {out, in}, deviation_for(gain, in));
  return node(path, "Gemm", {x, w, weight(path + ".bias", {out}, 0.02F)}, {{"transB", int64_t{1}}}, result);
}

Feature GraphBuilder::conv(const std::string& path, const Feature& x, int64_t out, const ConvOptions& options) {
  const int64_t k = options.kernel;
  const int64_t pad = k / 2;
  std::vector<Value> inputs = {
      x.value, weight(path + ".weight", {out, x.channels, k, k}, deviation_for(options.gain, x.channels * k * k))};
  if (options.bias) inputs.push_back(weight(path + ".bias", {out}, 0.02F));
  Attributes attributes = {{"dilations", std::vector<int64_t>{1, 1}},
                           {"group", int64_t{1}},
                           {"kernel_shape", std::vector<int64_t>{k, k}},
                           {"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                           {"strides", std::vector<int64_t>{options.stride, options.stride}}};
  return {node(path, "Conv", std::move(inputs), std::move(attributes)), out};
}

Feature GraphBuilder::batch_norm(const std::string& path, const Feature& x, float gamma) {
  const Shape shape = {x.channels};
  std::vector<Value> inputs = {x.value, weight(path + ".weight", shape, 0, gamma), weight(path + ".bias", shape, 0.02F),
                               weight(path + ".running_mean", shape, 0, 0, false),
                               weight(path + ".running_var", shape, 0, 1, false)};
  return {node(path, "BatchNormalization", std::move(inputs), {{"epsilon", 1e-5F}, {"momentum", 0.9F}}), x.channels};
}

Value GraphBuilder::layer_norm(const std::string& path, const Value& x, int64_t size, float epsilon,
                               const Value& result) {
  Value scale = weight(path + ".weight", {size}, 0, 1);
  Value shift = weight(path + ".bias", {size}, 0.02F);
  return node(path, "LayerNormalization", {x, scale, shift}, {{"axis", int64_t{-1}}, {"epsilon", epsilon}}, result);
}

Feature GraphBuilder::group_norm(const std::string& path, const Feature& x, int64_t groups, float epsilon) {
  // Ones and zeros made by Expand, once, so that no table counts as parameters.
  Value ones = "group_norm_ones";
  Value zeros = "group_norm_zeros";
  if (shared_.insert(ones).second) {
    node("group_norm", "Expand", {real(1), integers({groups})}, {}, ones);
    node("group_norm", "Expand", {real(0), integers({groups})}, {}, zeros);
  }
  Value flat = reshape(path, x.value, {0, groups, -1});
  Value normal = node(path, "InstanceNormalization", {flat, ones, zeros}, {{"epsilon", epsilon}});
  Value back = node(path, "Reshape", {normal, node(path, "Shape", {x.value})});
  Value scaled = mul(path, back, weight(path + ".weight", {x.channels, 1, 1}, 0, 1));
  return {add(path, scaled, weight(path + ".bias", {x.channels, 1, 1}, 0.02F)), x.channels};
}

}  // namespace ridge::zoo
