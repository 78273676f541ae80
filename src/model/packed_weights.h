// Weights of which ONNX Runtime's operators (com.microsoft) pack several values into a byte. All of it stands here: the
// plugin for OpenVINO counts costs too, and must not bring in this folder's library and ONNX.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "base/tensor.h"
#include "model/domains.h"
#include "model/graph.h"

namespace ridge::model {

// Source: ONNX Runtime, docs/ContribOperators.md.
struct PackedOperator {
  std::string_view op;
  const char* bits;  // the attribute that says of how many bits a value is; 4 where it is absent
};
inline constexpr PackedOperator kPacked[] = {
    {"MatMulNBits", "bits"}, {"MatMulBnb4", "bits"}, {"GatherBlockQuantized", "bits"}, {"QMoE", "expert_weight_bits"}};

// The values in constant input `i` of the node, which has `elements`: one each, but of packed weights more, and of
// their scales and zero points none.
inline int64_t values_of(const Node& node, size_t i, DataType type, int64_t elements) {
  const auto packed = std::find_if(std::begin(kPacked), std::end(kPacked), [&](const PackedOperator& p) {
    return node.domain == kMicrosoft && p.op == node.op;
  });
  if (packed == std::end(kPacked)) return elements;
  const bool experts = packed->op == "QMoE";
  if (!experts && (i == 2 || i == 3)) return 0;  // scales and zero points
  if (type != DataType::kUint8) return elements;
  constexpr int64_t kMost = int64_t{1} << 24;  // of a dimension, so that their product is one
  const int64_t k = attribute_or(node, "K", int64_t{0}), n = attribute_or(node, "N", int64_t{0});
  // Rows are filled up to whole blocks.
  if (!experts && i == 1 && k > 0 && n > 0 && k < kMost && n < kMost) return k * n;
  return elements * 8 / std::clamp<int64_t>(attribute_or(node, packed->bits, int64_t{4}), 1, 8);
}

}  // namespace ridge::model
