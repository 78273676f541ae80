// The cost of one node from the types and shapes of its operands alone, so that it works for a node of a graph and
// for a node that an engine's profile reports with its actual shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "base/units.h"
#include "cost/costs.h"
#include "model/graph.h"

namespace ridge::cost {

// An input or output of a node.
struct Operand {
  bool present = true;  // false: an optional operand that was left out
  DataType type = DataType::kInvalid;
  std::optional<Shape> shape;                  // absent: rank unknown; -1: dimension unknown
  bool weight = false;                         // constant: part of the model, not of a request
  std::optional<std::vector<int64_t>> values;  // of a small integer constant
};

// The part of each operand that a node touches, beside its cost.
struct NodeWork {
  NodeCost cost;
  std::vector<double> read;                    // [bytes] per input
  std::vector<double> written;                 // [bytes] per output
  bool view = false;                           // its first output is its first input under another shape: no bytes move
  bool sparse = false;                         // reads input 0 at data-dependent positions, so no part of it is certain
  double body_peak_bytes = 0;                  // live activations inside a loop or branch
  std::vector<std::string> body_without_rule;  // operators inside without a rule, as in Costs::without_rule
};

// Precision as in count(). Never fails: unknown parts are marked in the result (has_rule, shapes_known).
NodeCost count_node(const model::Node& node, std::span<const Operand> inputs, std::span<const Operand> outputs,
                    Precision precision = Precision::kFp32);
NodeWork work_of(const model::Node& node, std::span<const Operand> inputs, std::span<const Operand> outputs,
                 Precision precision = Precision::kFp32);

// Bytes per element as stored when `precision` replaces FP32; 0 if the type has no fixed size.
double stored_size(DataType type, Precision precision);

// Parameters that a constant adds as input `i` of the node: its elements if there are several, of a floating-point or
// 8-bit (quantised) type, and not statistics of a batch normalisation. Packed values count one by one, their scales do
// not.
int64_t parameters_of(const model::Node& node, size_t i, DataType type, const std::optional<Shape>& shape);

}  // namespace ridge::cost
