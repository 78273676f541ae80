#include "measure/own_nodes.h"

#include <gtest/gtest.h>

#include <map>

#include "measure/layers.h"

namespace ridge::measure {
namespace {

// A chain of nodes over tensors of one shape; "conv" nodes have a weight.
class Chain {
 public:
  explicit Chain(const std::string& input) { add(input, model::TensorRole::kInput); }

  Chain& then(const std::string& node, const std::string& op, const std::string& result, const std::string& domain = "",
              const std::string& second = "") {
    std::vector<int> inputs = {last_};
    if (op == "Conv") inputs.push_back(add("w" + node, model::TensorRole::kWeight, {4, 4, 1, 1}));
    if (!second.empty()) inputs.push_back(find(second));
    last_ = add(result, model::TensorRole::kActivation);
    graph_.nodes.push_back({node, op, domain, inputs, {last_}, {}});
    return *this;
  }
  Chain& from(const std::string& tensor) {
    last_ = find(tensor);
    return *this;
  }
  const model::Graph& graph() const { return graph_; }

 private:
  int add(const std::string& name, model::TensorRole role, Shape shape = {1, 4, 8, 8}) {
    graph_.tensors.push_back({name, DataType::kFp32, std::move(shape), role, {}});
    return last_ = static_cast<int>(graph_.tensors.size()) - 1;
  }
  int find(const std::string& name) const {
    for (size_t i = 0; i < graph_.tensors.size(); ++i)
      if (graph_.tensors[i].name == name) return static_cast<int>(i);
    return -1;
  }
  model::Graph graph_;
  int last_ = -1;
};

engine::NodeTime timed_node(const model::Node& node, std::vector<std::string> sources = {}) {
  engine::NodeTime time;
  time.name = node.name;
  time.op = node.op;
  time.mean_us = 10;
  time.runs = time.calls = 1;
  time.sources = std::move(sources);
  return time;
}

// "engine name: model name op [nodes]" of each layer, in the order of execution (all times are equal).
std::vector<std::string> named(const Chain& engine, const Chain& own,
                               const std::map<std::string, std::string>& sources = {}) {
  std::vector<engine::NodeTime> times;
  for (const model::Node& node : engine.graph().nodes) {
    const auto source = sources.find(node.name);
    times.push_back(timed_node(
        node, source == sources.end() ? std::vector<std::string>() : std::vector<std::string>{source->second}));
  }
  std::vector<std::string> lines;
  for (const Layer& layer : layers_of(times, &engine.graph(), &own.graph(), nullptr)) {
    std::string line = layer.engine_name + ": " + layer.name + " " + layer.op;
    for (const std::string& node : layer.nodes) line += " " + node;
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(OwnNodes, AFusedNodeComputesWhatLiesBetweenItsOperandsAndItsResult) {
  Chain own("x");
  own.then("first", "Conv", "a").then("clip", "Relu", "b").then("second", "Conv", "c").then("soft", "Softmax", "d");
  Chain engine("x");
  engine.then("fused first", "Conv", "b").then("second", "Conv", "c").then("soft", "Softmax", "d");
  EXPECT_EQ(named(engine, own),
            (Lines{"fused first: first Conv first clip", "second: second Conv second", "soft: soft Softmax soft"}));
}

TEST(OwnNodes, ALayerWhoseResultWasRenamedIsFoundByItsSourceAndTakesTheActivationsThatFollow) {
  Chain own("x");
  own.then("first", "Conv", "a").then("clip", "Relu", "b").then("second", "Conv", "c");
  own.then("sum", "Add", "d", "", "b").then("clip2", "Relu", "e");
  Chain engine("x");
  engine.then("ReorderInput", "ReorderInput", "r0", "com.microsoft.nchwc").then("a_nchwc", "Conv", "r1");
  engine.then("c_nchwc", "Conv", "r2").then("ReorderOutput", "ReorderOutput", "e", "com.microsoft.nchwc");
  EXPECT_EQ(named(engine, own, {{"a_nchwc", "a"}, {"c_nchwc", "c"}}),
            (Lines{"ReorderInput: first ReorderInput", "a_nchwc: first Conv first clip",
                   "c_nchwc: second Conv second sum clip2", "ReorderOutput: clip2 ReorderOutput"}));
}

TEST(OwnNodes, ANormalisationFoldedIntoAConvolutionIsPartOfIt) {
  Chain own("x");
  own.then("conv", "Conv", "a").then("norm", "BatchNormalization", "b").then("clip", "Relu", "c");
  Chain engine("x");
  engine.then("b_nchwc", "Conv", "r1").then("ReorderOutput", "ReorderOutput", "c", "com.microsoft.nchwc");
  EXPECT_EQ(named(engine, own, {{"b_nchwc", "b"}}),
            (Lines{"b_nchwc: conv Conv conv norm clip", "ReorderOutput: clip ReorderOutput"}));
}

TEST(OwnNodes, ManySmallStepsKeepTheEnginesNameForThem) {
  Chain own("x");
  own.then("square", "Mul", "a").then("root", "Sqrt", "b").then("scale", "Mul", "c").then("shift", "Add", "d");
  Chain engine("x");
  engine.then("LayerNormalization", "LayerNormalization", "d");
  EXPECT_EQ(named(engine, own), (Lines{"LayerNormalization: shift LayerNormalization square root scale shift"}));
}

TEST(OwnNodes, ALayerThatTheModelDoesNotShowKeepsItsName) {
  Chain own("x");
  own.then("clip", "Relu", "a");
  Chain engine("x");
  engine.then("stray", "Mystery", "q").from("x").then("clip", "Relu", "a");
  EXPECT_EQ(named(engine, own), (Lines{"stray: stray Mystery", "clip: clip Relu clip"}));
}

}  // namespace
}  // namespace ridge::measure
