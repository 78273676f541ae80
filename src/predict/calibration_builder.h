// Builds the models of the calibration suite: a zoo::GraphBuilder that tracks the shape of every value; a weight is one
// repeated number, so that files stay small. Private to predict/. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "zoo/builder.h"

namespace ridge::predict {

// Numbers identical on every platform (the standard library's distributions are not).
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  int64_t below(int64_t end);                  // 0 … end − 1
  int64_t between(int64_t low, int64_t high);  // both included
  // A multiple of 16 in [low, high], at least 16.
  int64_t channels(int64_t low, int64_t high);
  int64_t one_of(const std::vector<int64_t>& values) { return values[static_cast<size_t>(below(std::ssize(values)))]; }

 private:
  uint64_t state_;
};

// A value and its shape.
struct ShapedValue {
  zoo::Value value;
  Shape shape;
};

class CalibrationBuilder {
 public:
  // `open`: the first dimension of every input has a name instead of a size, as in most exports.
  explicit CalibrationBuilder(const std::string& name, bool open = false) : builder_(name, 17), open_(open) {}

  ShapedValue input(const Shape& shape, DataType type = DataType::kFp32);
  zoo::Value weight(const Shape& shape, float value = 0);  // 0: a small value of its own
  zoo::Value integers(const std::vector<int64_t>& values) { return builder_.integers(values); }
  zoo::Value reals(const std::vector<float>& values);
  zoo::Value real(float value) { return builder_.real(value); }

  // One operator with one output of `shape`.
  ShapedValue op(const std::string& op, std::vector<zoo::Value> inputs, Shape shape, zoo::Attributes attributes = {});
  std::vector<ShapedValue> split(const ShapedValue& x, int64_t axis, int64_t parts);
  ShapedValue unary(const std::string& name, const ShapedValue& x) { return op(name, {x.value}, x.shape); }
  ShapedValue binary(const std::string& name, const ShapedValue& a, const ShapedValue& b) {
    return op(name, {a.value, b.value}, a.shape);
  }
  // "": none; "silu": x · sigmoid(x); otherwise an operator.
  ShapedValue activation(const ShapedValue& x, const std::string& name);

  struct Convolution {
    int64_t out = 16;
    int64_t kernel = 1;
    int64_t stride = 1;
    int64_t group = 1;
    std::string activation = {};
  };
  ShapedValue convolution(const ShapedValue& x, const Convolution& options);
  // Padding kernel / 2 where the kernel is odd.
  ShapedValue pool(const std::string& op, const ShapedValue& x, int64_t kernel, int64_t stride);
  ShapedValue concat(const std::vector<ShapedValue>& parts, int64_t axis);
  ShapedValue linear(const ShapedValue& x, int64_t out);  // MatMul and Add
  ShapedValue gemm(const ShapedValue& x, int64_t out);    // weight [out, in]

  void output(const ShapedValue& value, DataType type = DataType::kFp32);
  const zoo::Blueprint& blueprint() const { return builder_.blueprint(); }

 private:
  std::vector<zoo::Dimension> dimensions(const Shape& shape) const;

  zoo::GraphBuilder builder_;
  bool open_;
  int inputs_ = 0;
  int weights_ = 0;
};

}  // namespace ridge::predict
