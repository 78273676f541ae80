#include "sizing/llm_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::sizing {
namespace {

using ::testing::HasSubstr;

// Two layers with 2 heads of 8 for keys and values, a vocabulary of 100, hidden 32; the head is stored separately.
model::Graph decoder() {
  model::Graph graph;
  auto weight = [&](Shape shape) {
    graph.tensors.push_back({"w", DataType::kFp16, shape, model::TensorRole::kWeight, {}});
    graph.parameters += *element_count(shape);
    return static_cast<int>(graph.tensors.size()) - 1;
  };
  int table = weight({100, 32}), head = weight({32, 100}), inner = weight({32, 32});
  graph.nodes.push_back({"embed", "Gather", "", {table, -1}, {}, {}});
  graph.nodes.push_back({"inner", "MatMul", "", {-1, inner}, {}, {}});
  graph.nodes.push_back({"head", "MatMul", "", {-1, head}, {}, {}});
  graph.weight_bytes = 2 * graph.parameters;
  for (const char* name :
       {"past_key_values.0.key", "past_key_values.0.value", "past_key_values.1.key", "past_key_values.1.value"})
    graph.input_specs.push_back({{name, DataType::kFp16, {-1, 2, -1, 8}}, {"batch", "", "past", ""}});
  return graph;
}

TEST(LlmGraph, FindsTheCacheAmongTheInputs) {
  auto found = llm_from_graph(decoder(), "decoder.onnx");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_DOUBLE_EQ(found->model.kv_values_per_token, 2 * 2 * 2 * 8);
  EXPECT_DOUBLE_EQ(found->model.attention_width, 2 * 2 * 8);
  EXPECT_DOUBLE_EQ(found->kv_bits, 16);
}

TEST(LlmGraph, TellsTheTablesFromTheLayers) {
  LlmParameters p = llm_from_graph(decoder(), "decoder.onnx")->model.parameters;
  EXPECT_DOUBLE_EQ(p.embedding, 3200);
  EXPECT_DOUBLE_EQ(p.head, 3200);
  EXPECT_DOUBLE_EQ(p.dense, 1024);
  EXPECT_DOUBLE_EQ(p.total, 7424);
  model::Graph tied = decoder();
  tied.tensors[1].shape = Shape{32, 1};
  tied.parameters = 3200 + 32 + 1024;
  EXPECT_DOUBLE_EQ(llm_from_graph(tied, "tied")->model.parameters.dense, 1056);
}

TEST(LlmGraph, TakesTheWeightsAsTheyAreStored) {
  model::Graph graph = decoder();
  graph.weight_bytes = graph.parameters / 2;
  auto found = llm_from_graph(graph, "decoder.onnx");
  EXPECT_DOUBLE_EQ(weight_bytes(found->model.parameters, found->stored), static_cast<double>(graph.weight_bytes));
}

TEST(LlmGraph, CountsQueryHeadsOfGroupedAttention) {
  model::Graph graph = decoder();
  graph.nodes.push_back({"attention",
                         "GroupQueryAttention",
                         "com.microsoft",
                         {},
                         {},
                         {{"num_heads", int64_t{8}}, {"kv_num_heads", int64_t{2}}}});
  EXPECT_DOUBLE_EQ(llm_from_graph(graph, "decoder.onnx")->model.attention_width, 4 * 2 * 2 * 8);
}

TEST(LlmGraph, RefusesWhatIsNoDecoder) {
  EXPECT_THAT(llm_from_graph(model::Graph(), "x").error().message, HasSubstr("past_key_values"));
  model::Graph graph = decoder();
  graph.input_specs[0].spec.shape = {-1, -1, -1, 8};
  EXPECT_THAT(llm_from_graph(graph, "x").error().message, HasSubstr("past_key_values.0.key"));
  graph = decoder();
  graph.input_specs[0].spec.name = "past_key_values.0.encoder.key";
  EXPECT_THAT(llm_from_graph(graph, "x").error().message, HasSubstr("encoder-decoder"));
}

}  // namespace
}  // namespace ridge::sizing
