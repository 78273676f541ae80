#include "model/packed_weights.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "model/domains.h"

namespace ridge::model {
namespace {

// Source: ONNX Runtime, docs/ContribOperators.md.
struct Packed {
  std::string_view op;
  const char* bits;  // the attribute that says of how many bits a value is; 4 where it is absent
};
constexpr Packed kPacked[] = {
    {"MatMulNBits", "bits"}, {"MatMulBnb4", "bits"}, {"GatherBlockQuantized", "bits"}, {"QMoE", "expert_weight_bits"}};

}  // namespace

int64_t values_of(const Node& node, size_t i, DataType type, int64_t elements) {
  const auto packed = std::find_if(std::begin(kPacked), std::end(kPacked),
                                   [&](const Packed& p) { return node.domain == kMicrosoft && p.op == node.op; });
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
