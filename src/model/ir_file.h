// OpenVINO's IR, a graph in XML beside its weights in a .bin file, as plain data. Reading only; ir_operators.h gives it ONNX's
// structure. Format: docs.openvino.ai, "OpenVINO IR format", versions 10 and 11.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"

namespace ridge::model {

struct IrTensor {
  std::string name;  // unique in the model
  int32_t onnx_type = 0;
  std::optional<Shape> shape;  // absent: rank unknown; -1: dimension unknown
};

struct IrLayer {
  std::string name, type, version;  // "conv1", "Convolution", "opset1"
  std::map<std::string, std::string> attributes;
  std::vector<int> inputs;   // index into IrModel::tensors; -1: not connected
  std::vector<int> outputs;  // likewise
};

struct IrModel {
  std::string name, producer;
  std::vector<IrTensor> tensors;
  std::vector<IrLayer> layers;
};

// Whether the bytes begin like IR.
bool looks_like_ir(std::string_view bytes);

// Errors: not XML, not IR, a version before 10, edges between ports that do not exist.
Result<IrModel> parse_ir(std::string_view xml);

// "1, 2, 3"; absent: not numbers.
std::optional<std::vector<int64_t>> ir_integers(std::string_view text);

// 0: no type that ONNX has. "f32", "i64", … as attributes spell them, or "FP32", "I64", as ports do.
int32_t ir_element_type(std::string_view name);

}  // namespace ridge::model
