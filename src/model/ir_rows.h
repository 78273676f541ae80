// OpenVINO's operators in ONNX's terms: one row each, in a table per kind of operator. Private to the reading of IR.
//
// Operators: docs.openvino.ai, "Available Operation Sets", opset1 to opset16; onnx.ai, "ONNX Operators". A composition (x·sigmoid(x),
// channels shuffled) is the definition in OpenVINO's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/ir_writer.h"

namespace ridge::model {

using Operands = std::vector<std::string>;
using Sizes = std::vector<int64_t>;

// Row function; `op`: the row's operator of ONNX. False: as write_layer() of ir_operators.h, before it has written anything.
using Write = bool (*)(IrWriter& w, const char* op);

struct IrRow {
  std::string_view type;
  Write write;
  const char* op;
};

std::span<const IrRow> pointwise_rows();
std::span<const IrRow> window_rows();
std::span<const IrRow> reduction_rows();
std::span<const IrRow> movement_rows();
std::span<const IrRow> other_rows();

// Shared by several tables.
bool write_same(IrWriter& w, const char* op);        // the same operands
bool write_first_only(IrWriter& w, const char* op);  // the first of them
std::string as_int64(IrWriter& w, size_t input);     // sizes and indices are INT64 in ONNX
bool any_set(const Sizes& mask);

}  // namespace ridge::model
