#include "predict/calibration_builder.h"

#include <algorithm>

#include "base/random.h"

namespace ridge::predict {

using zoo::Value;

int64_t Dice::below(int64_t end) {
  state_ += kGoldenGamma;
  return static_cast<int64_t>(split_mix(state_) % static_cast<uint64_t>(std::max<int64_t>(end, 1)));
}

int64_t Dice::between(int64_t low, int64_t high) { return low + below(std::max<int64_t>(high - low + 1, 1)); }

int64_t Dice::channels(int64_t low, int64_t high) {
  const int64_t first = std::max<int64_t>(1, low / 16);
  return 16 * between(first, std::max(first, high / 16));
}

std::vector<zoo::Dimension> CalibrationBuilder::dimensions(const Shape& shape) const {
  std::vector<zoo::Dimension> list(shape.begin(), shape.end());
  if (open_ && !list.empty()) list.front() = std::string("batch");
  return list;
}

ShapedValue CalibrationBuilder::input(const Shape& shape, DataType type) {
  return {builder_.input("input_" + std::to_string(inputs_++), type, dimensions(shape)), shape};
}

// The engine would merge equal weights, so each has its own value.
Value CalibrationBuilder::weight(const Shape& shape, float value) {
  const int number = weights_++;
  const float own = value != 0 ? value : 0.01F + 1e-5F * static_cast<float>(number);
  return builder_.node("weight" + std::to_string(number), "Expand", {builder_.real(own), builder_.integers(shape)});
}

Value CalibrationBuilder::reals(const std::vector<float>& values) {
  return builder_.table("reals" + std::to_string(weights_++), {std::ssize(values)}, values);
}

ShapedValue CalibrationBuilder::op(const std::string& op, std::vector<Value> inputs, Shape shape,
                                   zoo::Attributes attributes) {
  return {builder_.node(op, op, std::move(inputs), std::move(attributes)), std::move(shape)};
}

std::vector<ShapedValue> CalibrationBuilder::split(const ShapedValue& x, int64_t axis, int64_t parts) {
  Shape shape = x.shape;
  shape[static_cast<size_t>(axis)] /= parts;
  std::vector<ShapedValue> result;
  for (Value& value : builder_.nodes("Split", "Split", {x.value}, static_cast<size_t>(parts), {{"axis", axis}}))
    result.push_back({std::move(value), shape});
  return result;
}

ShapedValue CalibrationBuilder::activation(const ShapedValue& x, const std::string& name) {
  if (name.empty()) return x;
  if (name == "silu") return binary("Mul", x, unary("Sigmoid", x));
  return unary(name, x);
}

ShapedValue CalibrationBuilder::convolution(const ShapedValue& x, const Convolution& c) {
  const int64_t k = c.kernel, pad = k / 2;
  auto out_size = [&](int64_t size) { return (size + 2 * pad - k) / c.stride + 1; };
  ShapedValue y = op("Conv", {x.value, weight({c.out, x.shape[1] / c.group, k, k}), weight({c.out})},
                     {x.shape[0], c.out, out_size(x.shape[2]), out_size(x.shape[3])},
                     {{"dilations", std::vector<int64_t>{1, 1}},
                      {"group", c.group},
                      {"kernel_shape", std::vector<int64_t>{k, k}},
                      {"pads", std::vector<int64_t>(4, pad)},
                      {"strides", std::vector<int64_t>(2, c.stride)}});
  return activation(y, c.activation);
}

ShapedValue CalibrationBuilder::pool(const std::string& name, const ShapedValue& x, int64_t k, int64_t stride) {
  const int64_t pad = k % 2 == 1 ? k / 2 : 0;
  auto out_size = [&](int64_t size) { return (size + 2 * pad - k) / stride + 1; };
  return op(name, {x.value}, {x.shape[0], x.shape[1], out_size(x.shape[2]), out_size(x.shape[3])},
            {{"kernel_shape", std::vector<int64_t>{k, k}},
             {"pads", std::vector<int64_t>(4, pad)},
             {"strides", std::vector<int64_t>(2, stride)}});
}

ShapedValue CalibrationBuilder::concat(const std::vector<ShapedValue>& parts, int64_t axis) {
  std::vector<Value> values;
  Shape shape = parts.front().shape;
  shape[static_cast<size_t>(axis)] = 0;
  for (const ShapedValue& part : parts) {
    values.push_back(part.value);
    shape[static_cast<size_t>(axis)] += part.shape[static_cast<size_t>(axis)];
  }
  return op("Concat", std::move(values), shape, {{"axis", axis}});
}

ShapedValue CalibrationBuilder::linear(const ShapedValue& x, int64_t out) {
  Shape shape = x.shape;
  const int64_t in = shape.back();
  shape.back() = out;
  ShapedValue product = op("MatMul", {x.value, weight({in, out})}, shape);
  return op("Add", {weight({out}), product.value}, shape);
}

ShapedValue CalibrationBuilder::gemm(const ShapedValue& x, int64_t out) {
  return op("Gemm", {x.value, weight({out, x.shape.back()}), weight({out})}, {x.shape.front(), out},
            {{"transB", int64_t{1}}});
}

void CalibrationBuilder::output(const ShapedValue& value, DataType type) {
  builder_.output(value.value, type, dimensions(value.shape));
}

}  // namespace ridge::predict
