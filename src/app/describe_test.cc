#include "app/describe.h"

#include <gmock/gmock.h>

#include "engine/test_model.h"

namespace ridge::app {
namespace {

namespace onnx = engine::test_model;

using testing::ElementsAre;
using testing::IsEmpty;

// x times weights of 8 rows; an open dimension is called n.
Result<model::UnboundModel> product(const Shape& shape) {
  const std::vector<float> zeros(8 * 4);
  return model::UnboundModel::read_bytes(
      onnx::model(onnx::node("MatMul", "product", {"x", "w"}, "y") + onnx::weights("w", {8, 4}, zeros),
                  onnx::block(11, onnx::value_info("x", onnx::kFloat, shape)),
                  onnx::block(12, onnx::value_info("y", onnx::kFloat, {-1, 4}))),
      "");
}

TEST(Describe, CountsAtBatchOneWhereOnlyTheBatchIsOpen) {
  const Result<ModelDescription> found = describe("m.onnx", product({-1, 8}).value(), {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->flops, 2 * 8 * 4);
  EXPECT_EQ(found->parameters, 32);
  EXPECT_EQ(found->nodes, 1);
  EXPECT_THAT(found->weight_types, ElementsAre("FP32"));
  EXPECT_EQ(found->inputs.front().shape, "[n,8]");
  EXPECT_EQ(found->outputs.front().shape, "[n,4]");
  EXPECT_THAT(found->shapes, IsEmpty());
}

TEST(Describe, ProposesShapesForWhatElseIsOpenAndCountsOnceItIsGiven) {
  const Result<model::UnboundModel> model = product({1, -1});
  const Result<ModelDescription> open = describe("m.onnx", *model, {});
  ASSERT_TRUE(open) << open.error().message;
  EXPECT_FALSE(open->flops);
  EXPECT_THAT(open->shapes, ElementsAre("n=128"));
  model::Binding binding;
  binding.symbols["n"] = 8;
  const Result<ModelDescription> given = describe("m.onnx", *model, binding);
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(given->flops, 2 * 8 * 4);
  EXPECT_THAT(given->shapes, IsEmpty());
  binding.symbols = {{"z", 1}};
  EXPECT_FALSE(describe("m.onnx", *model, binding));
}

}  // namespace
}  // namespace ridge::app
