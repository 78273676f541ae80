#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "cost/costs.h"
#include "cost/data_sizes.h"
#include "cost/test_graph.h"

namespace ridge::cost::testing {
namespace {

// x [2,5] → MatMul w [5,3] → Add b [3] → Relu → y [2,3]
model::Graph dense() {
  GraphBuilder g;
  int x = g.input("x", {2, 5}), w = g.weight("w", {5, 3}), b = g.weight("b", {3});
  int product = g.node("MatMul", {x, w}, {2, 3});
  int sum = g.node("Add", {product, b}, {2, 3});
  return g.finish({g.node("Relu", {sum}, {2, 3})});
}

TEST(Count, SumsTheNodes) {
  Costs c = count(dense());
  EXPECT_DOUBLE_EQ(c.flops, 60 + 6 + 6);
  EXPECT_DOUBLE_EQ(c.macs, 30);
  EXPECT_EQ(c.parameters, 18);
  EXPECT_DOUBLE_EQ(c.weight_bytes, 72);
  EXPECT_DOUBLE_EQ(c.bytes, 4.0 * ((10 + 15 + 6) + (6 + 3 + 6) + (6 + 6)));
  EXPECT_TRUE(c.without_rule.empty());
}

TEST(Count, CompulsoryBytesAreInputsOutputsAndTheWeightsOfMultiplyAdds) {
  Costs c = count(dense());
  EXPECT_DOUBLE_EQ(c.compulsory_read, 4 * (10 + 15));  // not the bias: an engine may fold it
  EXPECT_DOUBLE_EQ(c.compulsory_written, 4 * 6);
  EXPECT_DOUBLE_EQ(c.compulsory_bytes, c.compulsory_read + c.compulsory_written);
}

TEST(Count, FreesActivationsAfterTheirLastUse) {
  // x is freed after the multiplication: the maximum is x + product (10 + 6) or two of 6.
  EXPECT_DOUBLE_EQ(count(dense()).peak_activation_bytes, 4 * 16);
  // A residual connection keeps x: x, a, b of 100 each while b is made, x + b + sum at the end.
  GraphBuilder g;
  int x = g.input("x", {100});
  int a = g.node("Relu", {x}, {100});
  int b = g.node("Relu", {a}, {100});
  EXPECT_DOUBLE_EQ(count(g.finish({g.node("Add", {x, b}, {100})})).peak_activation_bytes, 4 * 300);
}

TEST(Count, ViewsShareTheMemoryOfTheirInput) {
  GraphBuilder g;
  int x = g.input("x", {100}), shape = g.weight("shape", {2}, DataType::kInt64);
  int a = g.node("Relu", {x}, {100});
  int view = g.node("Reshape", {a, shape}, {10, 10});
  Costs c = count(g.finish({g.node("Relu", {view}, {10, 10})}));
  EXPECT_DOUBLE_EQ(c.peak_activation_bytes, 4 * 200);
  EXPECT_DOUBLE_EQ(c.nodes[1].bytes_read + c.nodes[1].bytes_written, 0);
  EXPECT_EQ(c.parameters, 0);
}

TEST(Count, WhatFollowsFromConstantsAloneIsAWeightAndDoesNotRun) {
  // The light models of the onnx package fill their weights by ConstantOfShape.
  GraphBuilder g;
  int x = g.input("x", {2, 5}), shape = g.weight("shape", {2}, DataType::kInt64);
  int w = g.node("ConstantOfShape", {shape}, {5, 3});
  Costs c = count(g.finish({g.node("MatMul", {x, w}, {2, 3})}));
  EXPECT_FALSE(c.nodes[0].runs);
  EXPECT_DOUBLE_EQ(c.nodes[0].bytes_written, 0);
  EXPECT_EQ(c.parameters, 15);
  EXPECT_EQ(c.nodes[1].parameters, 15);
  EXPECT_DOUBLE_EQ(c.compulsory_read, 4 * (10 + 15));
  EXPECT_DOUBLE_EQ(c.peak_activation_bytes, 4 * 16);
}

TEST(Count, RandomNumbersAreDrawnInEveryRun) {
  GraphBuilder g;
  EXPECT_TRUE(count(g.finish({g.node("RandomNormal", {}, {4})})).nodes[0].runs);
}

TEST(Count, LeavesOutNodesWhoseResultIsNotUsed) {
  GraphBuilder g;
  int x = g.input("x", {2, 5}), w = g.weight("w", {5, 3});
  g.node("MatMul", {x, w}, {2, 3});
  Costs c = count(g.finish({g.node("Relu", {x}, {2, 5})}));
  EXPECT_FALSE(c.nodes[0].runs);
  EXPECT_DOUBLE_EQ(c.macs, 0);
  EXPECT_EQ(c.parameters, 0);
}

TEST(Count, SharedWeightsCountOnce) {
  GraphBuilder g;
  int x = g.input("x", {2, 5}), w = g.weight("w", {5, 5});
  int once = g.node("MatMul", {x, w}, {2, 5});
  Costs c = count(g.finish({g.node("MatMul", {once, w}, {2, 5})}));
  EXPECT_EQ(c.parameters, 25);
  EXPECT_DOUBLE_EQ(c.weight_bytes, 100);
  EXPECT_DOUBLE_EQ(c.compulsory_read, 4 * (10 + 25));
}

// GPT-2's head is its table of tokens, transposed at the load.
TEST(Count, AWeightThatIsAlsoUsedTransposedIsAParameterOnceAndBytesTwice) {
  GraphBuilder g;
  int ids = g.input("ids", {6}, DataType::kInt64), table = g.weight("table", {1000, 8});
  int rows = g.node("Gather", {table, ids}, {6, 8}), head = g.node("Transpose", {table}, {8, 1000});
  Costs c = count(g.finish({g.node("MatMul", {rows, head}, {6, 1000})}));
  EXPECT_EQ(c.parameters, 8000);
  EXPECT_DOUBLE_EQ(c.weight_bytes, 64000);
}

TEST(Count, AnEmbeddingTableIsNotCompulsory) {
  GraphBuilder g;
  int ids = g.input("ids", {6}, DataType::kInt64), table = g.weight("table", {1000, 8});
  Costs c = count(g.finish({g.node("Gather", {table, ids}, {6, 8})}));
  EXPECT_DOUBLE_EQ(c.compulsory_read, 6 * 8);  // the indices; they might all name one row
  EXPECT_EQ(c.parameters, 8000);
  EXPECT_DOUBLE_EQ(c.weight_bytes, 32000);
}

TEST(Count, OfAnInputOnlyWhatIsUsedIsCompulsory) {
  GraphBuilder g;
  int x = g.input("x", {100, 4}), begin = g.weight("begin", {1}, DataType::kInt64);
  int part = g.node("Slice", {x, begin, begin}, {2, 4});
  EXPECT_DOUBLE_EQ(count(g.finish({g.node("Relu", {part}, {2, 4})})).compulsory_read, 32);
}

TEST(Count, ThroughAViewTheWholeInputIsCompulsory) {
  GraphBuilder g;
  int x = g.input("x", {16, 4});
  Costs c = count(g.finish({g.node("Identity", {x}, {16, 4})}));
  EXPECT_DOUBLE_EQ(c.compulsory_read, 256);
  EXPECT_DOUBLE_EQ(c.compulsory_written, 256);
}

TEST(Count, AnotherPrecisionReplacesFp32StorageAndArithmeticOnly) {
  Costs half = count(dense(), Precision::kBf16);
  EXPECT_DOUBLE_EQ(half.weight_bytes, 36);
  EXPECT_EQ(half.nodes[0].precision, Precision::kBf16);
  EXPECT_DOUBLE_EQ(half.flops, count(dense()).flops);
  GraphBuilder g;
  int x = g.input("x", {2, 5}, DataType::kFp16), w = g.weight("w", {5, 3}, DataType::kFp16);
  Costs own = count(g.finish({g.node("MatMul", {x, w}, {2, 3}, {}, DataType::kFp16)}), Precision::kInt8);
  EXPECT_EQ(own.nodes[0].precision, Precision::kFp16);
  EXPECT_DOUBLE_EQ(own.weight_bytes, 30);
}

TEST(Count, DequantisedOperandsMeanIntegerArithmeticAndIntegerWeights) {
  GraphBuilder g;
  int x = g.input("x", {2, 5}, DataType::kInt8), w = g.weight("w", {5, 3}, DataType::kInt8);
  int scale = g.weight("scale", {});
  int a = g.node("DequantizeLinear", {x, scale}, {2, 5});
  int b = g.node("DequantizeLinear", {w, scale}, {5, 3});
  Costs c = count(g.finish({g.node("MatMul", {a, b}, {2, 3})}));
  EXPECT_EQ(c.nodes[2].precision, Precision::kInt8);
  EXPECT_FALSE(c.nodes[1].runs);
  EXPECT_DOUBLE_EQ(c.compulsory_read, 10 + 15 + 4);
  EXPECT_EQ(c.parameters, 15);
}

// Weights of 64 × 6 in 8 bits and blocks of 16 rows, with a scale and a zero point for each block and column.
TEST(Count, WeightsQuantisedInBlocksIncludeTheirScalesAndZeroPoints) {
  GraphBuilder g;
  int x = g.input("x", {2, 64}), w = g.weight("w", {64, 6}, DataType::kUint8);
  int scale = g.weight("scale", {4, 6}), zero = g.weight("zero", {4, 6}, DataType::kUint8);
  int d = g.node("DequantizeLinear", {w, scale, zero}, {64, 6}, {{"block_size", int64_t{16}}});
  int y = g.node("MatMul", {x, d}, {2, 6});
  Costs c = count(g.finish({g.node("Add", {y, g.node("MatMul", {x, d}, {2, 6})}, {2, 6})}));
  const double weights = 64 * 6 + 4 * 6 * 4 + 4 * 6;
  EXPECT_DOUBLE_EQ(c.weight_bytes, weights);  // once
  EXPECT_DOUBLE_EQ(c.compulsory_read, 2 * 64 * 4 + weights);
  EXPECT_DOUBLE_EQ(c.nodes[1].weight_bytes, weights);
  EXPECT_DOUBLE_EQ(c.nodes[1].bytes_read, 2 * 64 * 4 + weights);
  EXPECT_EQ(c.parameters, 64 * 6);
}

// Files are malformed so: the address sanitizer sees what such a node would make of its scales.
TEST(Count, ADequantisingNodeWithoutInputsHasNoScales) {
  GraphBuilder g;
  int x = g.input("x", {2, 5});
  int d = g.node("DequantizeLinear", {}, {5, 3});
  Costs c = count(g.finish({g.node("MatMul", {x, d}, {2, 3})}));
  EXPECT_DOUBLE_EQ(c.nodes[1].flops, 2 * 2 * 5 * 3);
}

TEST(Count, ListsOperatorsWithoutRuleAndNodesOfUnknownShape) {
  GraphBuilder g;
  int x = g.input("x", {-1, 5});
  int a = g.node("Frobnicate", {x}, {4});
  Costs c = count(g.finish({g.node("Frobnicate", {a}, {4})}));
  EXPECT_EQ(c.without_rule, std::vector<std::string>{"ai.onnx.Frobnicate × 2"});
  EXPECT_EQ(c.unknown_shapes, std::vector<std::string>{"Frobnicate0"});
}

// A body that multiplies [1,4] by [4,4]: 16 multiply-adds.
std::shared_ptr<const model::Graph> body(int64_t width = 4) {
  GraphBuilder g;
  int x = g.input("inside", {1, width}), w = g.weight("inner_weight", {width, width});
  return std::make_shared<model::Graph>(g.finish({g.node("MatMul", {x, w}, {1, width})}));
}

TEST(Count, LoopsCountTheirBodyPerTrip) {
  GraphBuilder g;
  int trips = g.weight("trips", {1}, DataType::kInt64), x = g.input("x", {1, 4});
  int y = g.node("Loop", {trips, -1, x}, {1, 4}, {{"body", body()}});
  model::Graph graph = g.finish({y});
  graph.tensors[static_cast<size_t>(trips)].constant = {7};
  Costs c = count(graph);
  EXPECT_DOUBLE_EQ(c.macs, 7 * 16);
  EXPECT_DOUBLE_EQ(c.nodes[0].needed_flops, 2 * 7 * 16);
  EXPECT_EQ(c.parameters, 16);
  EXPECT_TRUE(c.nodes[0].shapes_known);

  graph.tensors[static_cast<size_t>(trips)].constant.reset();
  EXPECT_DOUBLE_EQ(count(graph).macs, 16);
  EXPECT_FALSE(count(graph).nodes[0].shapes_known);
}

TEST(Count, ScanRunsOncePerSlice) {
  GraphBuilder g;
  int x = g.input("x", {9, 4});
  Costs c = count(g.finish({g.node("Scan", {x}, {9, 4}, {{"body", body()}, {"num_scan_inputs", int64_t{1}}})}));
  EXPECT_DOUBLE_EQ(c.macs, 9 * 16);
}

TEST(Count, OfTwoBranchesTheCheaperIsCountedInEveryFigureAndWeightsOfBoth) {
  GraphBuilder g;
  int condition = g.input("condition", {}, DataType::kBool);
  for (const auto& [then, otherwise] : {std::pair(2, 4), std::pair(4, 2)}) {
    GraphBuilder each = g;
    Costs c = count(each.finish(
        {each.node("If", {condition}, {1, 4}, {{"then_branch", body(then)}, {"else_branch", body(otherwise)}})}));
    EXPECT_DOUBLE_EQ(c.macs, 4);
    EXPECT_DOUBLE_EQ(c.nodes[0].needed_flops, 2 * 4);
    EXPECT_EQ(c.parameters, 4 + 16);
  }
}

TEST(Count, AKnownConditionChoosesItsBranch) {
  GraphBuilder g;
  int condition = g.weight("condition", {}, DataType::kBool);
  model::Graph graph =
      g.finish({g.node("If", {condition}, {1, 4}, {{"then_branch", body(2)}, {"else_branch", body(4)}})});
  graph.tensors[static_cast<size_t>(condition)].constant = {1};
  EXPECT_DOUBLE_EQ(count(graph).macs, 4);
  EXPECT_DOUBLE_EQ(count(graph).nodes[0].needed_flops, 2 * 4);
}

// `while` is exported as a loop of 2^63 − 1 iterations ended by its condition.
TEST(Count, AnEndlessLoopCountsOneTurnAndIsALowerBound) {
  GraphBuilder g;
  int trips = g.weight("trips", {}, DataType::kInt64), go = g.input("go", {}, DataType::kBool),
      x = g.input("x", {1, 4});
  model::Graph graph = g.finish({g.node("Loop", {trips, go, x}, {1, 4}, {{"body", body()}})});
  graph.tensors[static_cast<size_t>(trips)].constant = {std::numeric_limits<int64_t>::max()};
  EXPECT_DOUBLE_EQ(count(graph).macs, 16);
  EXPECT_FALSE(count(graph).nodes[0].shapes_known);
}

// The kept ones of 100 boxes are multiplied: counted at the maximum, and in no bound.
TEST(Count, WorkOnSizesThatTheDataDecideIsCountedButNotNeeded) {
  GraphBuilder g;
  int kept = g.node("NonZero", {g.input("scores", {100})}, {1, 100}, {}, DataType::kInt64);
  int rows = g.node("Gather", {g.input("boxes", {100, 4}), kept}, {1, 100, 4});
  const model::Graph graph = g.finish({g.node("MatMul", {rows, g.weight("w", {4, 8})}, {1, 100, 8})});
  Costs c = count(graph);
  EXPECT_DOUBLE_EQ(c.macs, 100 * 4 * 8);
  EXPECT_DOUBLE_EQ(c.nodes[2].needed_flops, 0);
  EXPECT_DOUBLE_EQ(c.compulsory_written, 0);
  EXPECT_DOUBLE_EQ(c.compulsory_read, 4 * 100);  // the scores
  EXPECT_NE(note_on_data_sizes(graph).find("NonZero × 1"), std::string::npos);
}

TEST(Count, KeepsWhatABodyUsesByName) {
  GraphBuilder g;
  int condition = g.input("condition", {}, DataType::kBool), x = g.input("x", {1, 4});
  g.node("Relu", {x}, {1, 4});
  int y = g.node("If", {condition}, {1, 4}, {{"then_branch", body()}, {"else_branch", body()}});
  model::Graph graph = g.finish({y});
  graph.tensors[2].name = "elsewhere";
  EXPECT_FALSE(count(graph).nodes[0].runs);
  graph.tensors[2].name = "inside";  // the output of Relu, now used inside the branches
  EXPECT_TRUE(count(graph).nodes[0].runs);
}

TEST(Count, OfAnEmptyGraphIsZero) {
  Costs c = count(model::Graph{});
  EXPECT_DOUBLE_EQ(c.flops + c.bytes + c.peak_activation_bytes + c.compulsory_bytes, 0);
}

}  // namespace
}  // namespace ridge::cost::testing
