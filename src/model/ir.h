// A model in OpenVINO's IR: as OpenVINO describes it, and in ONNX's terms, so that costs follow from the same rules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"
#include "model/inference.h"

namespace onnx {
class ModelProto;
}

namespace ridge::model {

inline constexpr std::string_view kIr = "ir";  // domain of the operators that ONNX does not have

struct IrTensor {
  std::string name;            // not unique
  std::string type;            // OpenVINO's: "f32", "i4"
  std::optional<Shape> shape;  // absent: rank unknown; -1: dimension unknown
};

struct IrOperator {
  std::string name, type;                         // "conv1", "Convolution"
  std::map<std::string, std::string> attributes;  // as the file spells them: "1,1", "true"
  std::vector<int> inputs, outputs;               // index into IrModel::tensors
  std::vector<int64_t> values;                    // of a small constant of integers
};

struct IrModel {
  std::string name, producer;
  std::vector<IrTensor> tensors;
  std::vector<IrOperator> operators;  // in topological order
};

// An open file. Thread-safe.
class IrSource {
 public:
  virtual ~IrSource() = default;
  // `shapes`: whole, by the input's name; other inputs keep those of the file. kInvalid: the model does not accept
  // them.
  virtual Result<IrModel> at(const std::map<std::string, Shape>& shapes, DataSizes sizes) const = 0;
};

// Replaces `model`, without the weights' values; returns the values of small constants. An operator without a
// counterpart becomes a node of the domain kIr: its cost is not known.
GraphValues write_as_onnx(const IrModel& ir, onnx::ModelProto& model);

}  // namespace ridge::model
