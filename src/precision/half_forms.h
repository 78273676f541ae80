// The inputs and outputs of a node that can be 16-bit floating point, by its operator's schema.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"

namespace onnx {
class NodeProto;
}

namespace ridge::precision {

enum class Slot : uint8_t {
  kOther,  // not FP32, or left out
  kFp32,   // stays FP32
  kHalf,   // becomes 16 bits
};

struct HalfForm {
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
};

// `fp32_inputs`, `fp32_outputs`: the FP32 ones in the model. nullopt: no schema at this opset, no 16-bit type for the
// operator's FP32 operands, or a body.
std::optional<HalfForm> half_form(const onnx::NodeProto& node, int64_t opset, Precision precision,
                                  const std::vector<bool>& fp32_inputs, const std::vector<bool>& fp32_outputs);

}  // namespace ridge::precision
