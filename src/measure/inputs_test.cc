#include "measure/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace ridge::measure {
namespace {

template <typename T>
std::vector<T> values(const Tensor& tensor) {
  std::vector<T> list(tensor.data.size() / sizeof(T));
  std::memcpy(list.data(), tensor.data.data(), tensor.data.size());
  return list;
}

engine::Signature signature(std::vector<TensorSpec> inputs) { return {std::move(inputs), {}}; }

// input_ids → Cast → Gather(table [30522, 8])
model::Graph embedding() {
  model::Graph graph;
  graph.tensors = {{"input_ids", DataType::kInt64, Shape{1, 4}, model::TensorRole::kInput, {}},
                   {"cast", DataType::kInt32, Shape{1, 4}, model::TensorRole::kActivation, {}},
                   {"table", DataType::kFp32, Shape{30522, 8}, model::TensorRole::kWeight, {}},
                   {"embedded", DataType::kFp32, Shape{1, 4, 8}, model::TensorRole::kActivation, {}}};
  graph.nodes = {{"cast", "Cast", "", {0}, {1}, {}}, {"gather", "Gather", "", {2, 1}, {3}, {}}};
  graph.inputs = {0};
  graph.outputs = {3};
  return graph;
}

TEST(MakeInputs, FloatingPointIsInTheUnitIntervalAndNotAllTheSame) {
  Result<std::vector<Tensor>> tensors =
      make_inputs(signature({{"x", DataType::kFp32, {-1, 100}}}), {{"x", {2, 100}}}, nullptr);
  ASSERT_TRUE(tensors.ok());
  std::vector<float> list = values<float>((*tensors)[0]);
  ASSERT_EQ(list.size(), 200u);
  auto [low, high] = std::minmax_element(list.begin(), list.end());
  EXPECT_GE(*low, 0);
  EXPECT_LT(*high, 1);
  EXPECT_GT(*high - *low, 0.5);
}

TEST(MakeInputs, IdsStayBelowTheTableThatTheyIndex) {
  model::Graph graph = embedding();
  EXPECT_EQ(table_rows(graph, "input_ids"), 30522);
  Result<std::vector<Tensor>> tensors =
      make_inputs(signature({{"input_ids", DataType::kInt64, {-1, -1}}}), {{"input_ids", {8, 128}}}, &graph);
  ASSERT_TRUE(tensors.ok());
  std::vector<int64_t> ids = values<int64_t>((*tensors)[0]);
  EXPECT_LT(*std::max_element(ids.begin(), ids.end()), 30522);
  EXPECT_GT(*std::max_element(ids.begin(), ids.end()), 10000);
  EXPECT_GE(*std::min_element(ids.begin(), ids.end()), 0);
}

TEST(MakeInputs, MasksAreOnesAndUnknownIntegersAreSmall) {
  Result<std::vector<Tensor>> tensors = make_inputs(
      signature({{"attention_mask", DataType::kInt64, {1, 64}}, {"segment", DataType::kInt32, {64}}}), {}, nullptr);
  ASSERT_TRUE(tensors.ok());
  EXPECT_EQ(values<int64_t>((*tensors)[0]), std::vector<int64_t>(64, 1));
  std::vector<int32_t> segment = values<int32_t>((*tensors)[1]);
  EXPECT_LE(*std::max_element(segment.begin(), segment.end()), 1);
}

TEST(MakeInputs, SizesThatOverflowOrDoNotFitAreErrors) {
  for (const DataType type : {DataType::kFp32, DataType::kBytes})
    for (const Shape& shape : {Shape{int64_t{1} << 58, 16}, Shape{int64_t{1} << 31, int64_t{1} << 31},
                               Shape{int64_t{1} << 62, 1}, Shape{int64_t{1} << 62, 4}}) {
      const auto made = make_inputs(signature({{"x", type, {-1, -1}}}), {{"x", shape}}, nullptr);
      ASSERT_FALSE(made.ok()) << shape_text(shape);
      EXPECT_EQ(made.error().code, Code::kInvalid) << shape_text(shape);
    }
  const auto large = make_inputs(signature({{"x", DataType::kUint8, {-1}}}), {{"x", {int64_t{1} << 50}}}, nullptr);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, Code::kExhausted);
}

TEST(MakeInputs, StringsAreAValidBlock) {
  Result<std::vector<Tensor>> tensors = make_inputs(signature({{"text", DataType::kBytes, {3}}}), {}, nullptr);
  ASSERT_TRUE(tensors.ok());
  EXPECT_TRUE(check_bytes_block((*tensors)[0].data.span(), 3).ok());
}

TEST(MakeInputs, HalfPrecisionIsFiniteAndInTheUnitInterval) {
  Result<std::vector<Tensor>> tensors = make_inputs(signature({{"x", DataType::kFp16, {20000}}}), {}, nullptr);
  ASSERT_TRUE(tensors.ok());
  for (uint16_t bits : values<uint16_t>((*tensors)[0])) ASSERT_LT(bits, 0x3c00);  // 1.0
}

TEST(MakeInputs, TheSameSeedGivesTheSameValues) {
  engine::Signature one = signature({{"x", DataType::kFp32, {16}}});
  EXPECT_EQ(values<float>((*make_inputs(one, {}, nullptr, 4))[0]),
            values<float>((*make_inputs(one, {}, nullptr, 4))[0]));
  EXPECT_NE(values<float>((*make_inputs(one, {}, nullptr, 4))[0]),
            values<float>((*make_inputs(one, {}, nullptr, 5))[0]));
}

TEST(MakeInputs, AnOpenOrContradictingShapeIsAnError) {
  engine::Signature open = signature({{"x", DataType::kFp32, {-1, 16}}});
  EXPECT_FALSE(make_inputs(open, {}, nullptr).ok());
  EXPECT_FALSE(make_inputs(open, {{"x", {1, 8}}}, nullptr).ok());
  EXPECT_FALSE(make_inputs(open, {{"x", {16}}}, nullptr).ok());
}

}  // namespace
}  // namespace ridge::measure
