#include "model/fold.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

namespace ridge::model {
namespace {

using Proto = onnx::TensorProto;
using Values = std::vector<std::optional<Number>>;

SmallTensor list(Values values, int32_t type = Proto::INT64) {
  const auto size = static_cast<int64_t>(values.size());
  return {type, {size}, std::move(values)};
}

SmallTensor scalar(Number value, int32_t type = Proto::INT64) { return {type, {}, {value}}; }

onnx::NodeProto node(const std::string& op, int inputs, int outputs = 1) {
  onnx::NodeProto made;
  made.set_op_type(op);
  for (int i = 0; i < inputs; ++i) made.add_input("i" + std::to_string(i));
  for (int i = 0; i < outputs; ++i) made.add_output("o" + std::to_string(i));
  return made;
}

void set(onnx::NodeProto& node, const std::string& name, int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_i(value);
}

// The values of the node's first output; empty if unknown.
Values run(const onnx::NodeProto& node, const std::vector<SmallTensor>& tensors, int32_t type = Proto::INT64) {
  std::vector<FoldInput> inputs;
  for (const SmallTensor& tensor : tensors) inputs.push_back({&tensor, &tensor.shape});
  auto folded = fold(node, inputs, nullptr, type);
  return folded.empty() || !folded[0] ? Values() : folded[0]->elements;
}

TEST(Fold, ShapeKeepsUnknownSizesApart) {
  const Shape shape = {-1, 3, 224};
  auto folded = fold(node("Shape", 1), {{nullptr, &shape}}, nullptr, Proto::INT64);
  ASSERT_TRUE(folded.at(0).has_value());
  EXPECT_EQ(folded[0]->elements, (Values{std::nullopt, 3, 224}));
}

TEST(Fold, ShapeTakesStartAndEnd) {
  const Shape shape = {5, 6, 7};
  onnx::NodeProto part = node("Shape", 1);
  set(part, "start", -2);
  set(part, "end", 2);
  EXPECT_EQ(fold(part, {{nullptr, &shape}}, nullptr, Proto::INT64).at(0)->elements, (Values{6}));
}

TEST(Fold, GatherPicksKnownElementsAndCountsFromTheEnd) {
  EXPECT_EQ(run(node("Gather", 2), {list({7, std::nullopt, 9}), list({2, -3, 1})}), (Values{9, 7, std::nullopt}));
  EXPECT_EQ(run(node("Gather", 2), {list({7}), list({1})}), Values());
}

TEST(Fold, ArithmeticBroadcastsAndTruncatesLikeIntegers) {
  EXPECT_EQ(run(node("Div", 2), {list({-7, 7}), scalar(2)}), (Values{-3, 3}));
  EXPECT_EQ(run(node("Mod", 2), {list({-7, 7}), scalar(3)}), (Values{2, 1}));
  EXPECT_EQ(run(node("Add", 2), {list({1, std::nullopt}), list({10})}), (Values{11, std::nullopt}));
}

TEST(Fold, DivisionByZeroAndOverflowAreUnknown) {
  EXPECT_EQ(run(node("Div", 2), {list({1}), list({0})}), (Values{std::nullopt}));
  const Number most = static_cast<Number>(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(run(node("Add", 2), {list({most}), list({1})}), (Values{std::nullopt}));
  EXPECT_EQ(run(node("Add", 2), {list({most}), list({0})}), (Values{most}));
}

TEST(Fold, RealArithmeticRoundsToTheType) {
  const Number third = 1.0F / 3.0F;
  EXPECT_EQ(run(node("Div", 2), {scalar(1, Proto::FLOAT), scalar(3, Proto::FLOAT)}, Proto::FLOAT), (Values{third}));
}

// Exporters' reordering of ONNX's padding: pairs, in reverse order, first all begins and then all ends.
TEST(Fold, TurnsAListOfPairsAround) {
  const SmallTensor pairs{Proto::INT64, {3, 2}, {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(run(node("Slice", 5),
                {pairs, list({-1}), list({std::numeric_limits<int64_t>::min() + 1}), list({0}), list({-1})}),
            (Values{5, 6, 3, 4, 1, 2}));
  EXPECT_EQ(run(node("Transpose", 1), {pairs}), (Values{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(run(node("Slice", 4), {pairs, list({1}), list({2}), list({1})}), (Values{2, 4, 6}));
}

TEST(Fold, TheLeastOfAListLimitsAnother) {
  const Shape one = {1};
  const SmallTensor sizes = list({300, 40});
  auto folded = fold(node("ReduceMin", 1), {{&sizes, &sizes.shape}}, &one, Proto::INT64);
  EXPECT_EQ(folded.at(0)->elements, (Values{40}));
}

TEST(Fold, SliceHandlesOpenEndsAndNegativeSteps) {
  const Number most = static_cast<Number>(std::numeric_limits<int64_t>::max());
  const SmallTensor data = list({1, 2, 3, 4});
  EXPECT_EQ(run(node("Slice", 3), {data, list({1}), list({most})}), (Values{2, 3, 4}));
  EXPECT_EQ(run(node("Slice", 3), {data, list({0}), list({-1})}), (Values{1, 2, 3}));
  EXPECT_EQ(run(node("Slice", 5), {data, list({-1}), list({-most}), list({0}), list({-1})}), (Values{4, 3, 2, 1}));
  EXPECT_EQ(run(node("Slice", 5), {data, list({0}), list({most}), list({0}), list({3})}), (Values{1, 4}));
  EXPECT_EQ(run(node("Slice", 5), {data, list({0}), list({most}), list({0}), list({0})}), Values());
}

TEST(Fold, RangeAndConstantOfShapeStayWithinTheLimit) {
  EXPECT_EQ(run(node("Range", 3), {scalar(2), scalar(8), scalar(3)}), (Values{2, 5}));
  EXPECT_EQ(run(node("Range", 3), {scalar(0), scalar(1e15L), scalar(1)}), Values());
  EXPECT_EQ(run(node("Range", 3), {scalar(0), scalar(3), scalar(0)}), Values());
  EXPECT_EQ(run(node("ConstantOfShape", 1), {list({2})}), (Values{0, 0}));
  EXPECT_EQ(run(node("ConstantOfShape", 1), {list({1 << 20, 1 << 20})}), Values());
  EXPECT_EQ(run(node("ConstantOfShape", 1), {list({-1})}), Values());
}

TEST(Fold, WhereReplacesMarkedSizes) {
  EXPECT_EQ(run(node("Where", 3), {list({1, 0}, Proto::BOOL), list({5, 5}), list({-1, 8})}), (Values{5, 8}));
}

TEST(Fold, SplitCutsAListIntoItsParts) {
  const SmallTensor data = list({4, 5, 6});
  const SmallTensor sizes = list({1, 2});
  auto folded = fold(node("Split", 2, 2), {{&data, &data.shape}, {&sizes, &sizes.shape}}, nullptr, Proto::INT64);
  ASSERT_EQ(folded.size(), 2U);
  EXPECT_EQ(folded[1]->elements, (Values{5, 6}));
}

TEST(Fold, SizesAndPositionsThatAreNoIntegersAreIgnored) {
  const SmallTensor data = list({1, 2, 3});
  const SmallTensor nothing = list({std::numeric_limits<Number>::quiet_NaN()}, Proto::FLOAT);
  const SmallTensor huge = list({1e30L}, Proto::FLOAT);
  EXPECT_EQ(run(node("Gather", 2), {data, nothing}), Values());
  EXPECT_EQ(run(node("Slice", 3), {data, nothing, huge}), Values());
  EXPECT_EQ(run(node("ConstantOfShape", 1), {huge}), Values());
  EXPECT_EQ(run(node("Expand", 2), {list({1}), huge}), Values());
}

TEST(Fold, LeavesOtherOperatorsAndDomainsAlone) {
  EXPECT_EQ(run(node("Relu", 1), {list({1})}), Values());
  onnx::NodeProto foreign = node("Add", 2);
  foreign.set_domain("vendor");
  EXPECT_EQ(run(foreign, {list({1}), list({1})}), Values());
}

}  // namespace
}  // namespace ridge::model
