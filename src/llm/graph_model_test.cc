#include "llm/graph_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridge::llm {
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

TEST(GraphModel, FindsTheCacheAmongTheInputs) {
  auto found = model_of_graph(decoder(), "decoder.onnx");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_DOUBLE_EQ(cache_bytes_per_token(found->model, 16), 2 * 2 * 2 * 2 * 8);
  EXPECT_DOUBLE_EQ(attention_flops(found->model, 1, 0), 4 * 2 * 2 * 8);
  EXPECT_DOUBLE_EQ(found->kv_bits, 16);
}

TEST(GraphModel, TellsTheTablesFromTheLayers) {
  Parameters p = model_of_graph(decoder(), "decoder.onnx")->parameters;
  EXPECT_DOUBLE_EQ(p.embedding, 3200);
  EXPECT_DOUBLE_EQ(p.head, 3200);
  EXPECT_DOUBLE_EQ(p.feed_forward, 1024);
  EXPECT_DOUBLE_EQ(p.total, 7424);
  model::Graph tied = decoder();
  tied.tensors[1].shape = Shape{32, 1};
  tied.parameters = 3200 + 32 + 1024;
  EXPECT_DOUBLE_EQ(model_of_graph(tied, "tied")->parameters.feed_forward, 1056);
}

TEST(GraphModel, TakesTheWeightsAsTheyAreStored) {
  model::Graph graph = decoder();
  graph.weight_bytes = graph.parameters / 2;
  auto found = model_of_graph(graph, "decoder.onnx");
  EXPECT_DOUBLE_EQ(weight_bytes(found->parameters, found->stored), static_cast<double>(graph.weight_bytes));
}

TEST(GraphModel, CountsQueryHeadsOfGroupedAttention) {
  model::Graph graph = decoder();
  graph.nodes.push_back({"attention",
                         "GroupQueryAttention",
                         "com.microsoft",
                         {},
                         {},
                         {{"num_heads", int64_t{8}}, {"kv_num_heads", int64_t{2}}}});
  EXPECT_DOUBLE_EQ(attention_flops(model_of_graph(graph, "decoder.onnx")->model, 1, 0), 4 * 4 * 2 * 2 * 8);
}

TEST(GraphModel, RefusesWhatIsNoDecoder) {
  EXPECT_THAT(model_of_graph(model::Graph(), "x").error().message, HasSubstr("past_key_values"));
  model::Graph graph = decoder();
  graph.input_specs[0].spec.shape = {-1, -1, -1, 8};
  EXPECT_THAT(model_of_graph(graph, "x").error().message, HasSubstr("past_key_values.0.key"));
  graph = decoder();
  graph.input_specs[0].spec.name = "past_key_values.0.encoder.key";
  EXPECT_THAT(model_of_graph(graph, "x").error().message, HasSubstr("encoder-decoder"));
}

}  // namespace
}  // namespace ridge::llm
