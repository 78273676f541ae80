#include "model/packed_weights.h"

#include <gtest/gtest.h>

#include "model/domains.h"

namespace ridge::model {
namespace {

Node node_of(const char* op, std::map<std::string, Attribute> attributes, const char* domain = nullptr) {
  Node node;
  node.op = op;
  node.domain = domain == nullptr ? std::string(kMicrosoft) : domain;
  node.attributes = std::move(attributes);
  return node;
}

TEST(PackedWeights, AByteHoldsAsManyValuesAsItsBitsAllow) {
  EXPECT_EQ(values_of(node_of("GatherBlockQuantized", {}), 0, DataType::kUint8, 100), 200);
  EXPECT_EQ(values_of(node_of("GatherBlockQuantized", {{"bits", int64_t{8}}}), 0, DataType::kUint8, 100), 100);
  EXPECT_EQ(values_of(node_of("MatMulNBits", {{"bits", int64_t{2}}}), 1, DataType::kUint8, 100), 400);
  EXPECT_EQ(values_of(node_of("QMoE", {{"expert_weight_bits", int64_t{4}}}), 5, DataType::kUint8, 100), 200);
}

TEST(PackedWeights, RowsThatAreFilledUpCountByTheOperatorsSizes) {
  const Node node = node_of("MatMulNBits", {{"K", int64_t{40}}, {"N", int64_t{3}}, {"bits", int64_t{4}}});
  EXPECT_EQ(values_of(node, 1, DataType::kUint8, 3 * 2 * 16), 120);
  EXPECT_EQ(values_of(node, 2, DataType::kFp32, 6), 0) << "scales";
  EXPECT_EQ(values_of(node, 5, DataType::kFp32, 3), 3) << "bias";
}

TEST(PackedWeights, OtherWeightsCountAsTheyAre) {
  EXPECT_EQ(values_of(node_of("MatMulNBits", {{"bits", int64_t{4}}}, "my.own"), 1, DataType::kUint8, 100), 100);
  EXPECT_EQ(values_of(node_of("DequantizeLinear", {}, ""), 0, DataType::kUint8, 100), 100);
  EXPECT_EQ(values_of(node_of("GatherBlockQuantized", {}), 0, DataType::kInvalid, 100), 100)
      << "INT4, one element each";
}

}  // namespace
}  // namespace ridge::model
