// OpenVINO's operators in ONNX's terms: one row each. Private to the reading of IR.
#pragma once

#include <cstdint>

#include "model/ir_writer.h"

namespace ridge::model {

inline constexpr int64_t kIrOpset = 23;  // of ONNX, in which the rows write

// Writes the writer's layer. False: no row, or a form of the operator that has no counterpart; nothing is written then.
bool write_layer(IrWriter& writer);

}  // namespace ridge::model
