// Blueprint: a reference model as plain data, before any weight exists. GraphBuilder fills it, write() turns it into an
// ONNX file, describe() counts it. Weights are recipes (shape, mean, deviation), so a blueprint of any size is small.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/tensor.h"

namespace ridge::zoo {

using Dimension = std::variant<int64_t, std::string>;  // a size, or a symbol such as "batch"
using AttributeValue = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>>;
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

// A model input or output.
struct Port {
  std::string name;
  DataType type = DataType::kFp32;
  std::vector<Dimension> shape;
};

struct Operation {
  std::string name;
  std::string op;
  std::vector<std::string> inputs;  // "" = optional input left out
  std::vector<std::string> outputs;
  Attributes attributes;
};

// FP32 tensor drawn uniformly from mean ± √3 · deviation.
struct Weight {
  std::string name;
  Shape shape;
  float mean = 0;
  float deviation = 0;
  bool parameter = true;  // false: a statistic or table, which published counts leave out
};

struct Constant {
  std::string name;
  Shape shape;
  std::variant<std::vector<int64_t>, std::vector<float>> values;  // INT64 or FP32
  bool parameter = false;
};

struct Blueprint {
  std::string name;
  int64_t opset = 17;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::vector<Operation> operations;  // topological order
  std::vector<Weight> weights;
  std::vector<Constant> constants;
};

}  // namespace ridge::zoo
