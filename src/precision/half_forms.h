// Which inputs and outputs of a node can be 16-bit floating point, by its operator's schema.
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

// `fp32_inputs`, `fp32_outputs`: which of them are FP32 in the model. nullopt: no schema at this opset, no 16-bit type where the
// operator takes and gives FP32, or a body.
std::optional<HalfForm> half_form(const onnx::NodeProto& node, int64_t opset, Precision precision,
                                  const std::vector<bool>& fp32_inputs, const std::vector<bool>& fp32_outputs);

}  // namespace ridge::precision
