#include "cost/rules.h"

#include <gtest/gtest.h>

#include <limits>

#include "cost/test_graph.h"

namespace ridge::cost::testing {
namespace {

struct Row {
  const char* op;
  std::vector<Operand> inputs;
  Operand output;
  Attributes attributes;
  double flops;
};

void check(const std::vector<Row>& rows, const std::string& domain = "") {
  for (const Row& row : rows) {
    NodeCost c = cost(row.op, row.inputs, {row.output}, row.attributes, domain);
    EXPECT_TRUE(c.has_rule) << row.op;
    EXPECT_TRUE(c.shapes_known) << row.op;
    EXPECT_DOUBLE_EQ(c.flops, row.flops) << row.op;
  }
}

TEST(Elementwise, CountsTheArithmeticOfItsFormulaPerElement) {
  Operand x = tensor({2, 3});
  check({{"Relu", {x}, x, {}, 6},
         {"Sigmoid", {x}, x, {}, 6 * 4},
         {"Tanh", {x}, x, {}, 6},
         {"Gelu", {x}, x, {}, 6 * 5},
         {"Gelu", {x}, x, {{"approximate", std::string("tanh")}}, 6 * 8},
         {"Swish", {x}, x, {}, 6 * 6},
         {"Clip", {x, absent(), weight({})}, x, {}, 6},
         {"Clip", {x, weight({}), weight({})}, x, {}, 12},
         {"Erf", {x}, x, {}, 6}});
  check({{"BiasGelu", {x, weight({3})}, x, {}, 6 * 6},
         {"FastGelu", {x}, x, {}, 6 * 8},
         {"FastGelu", {x, weight({3})}, x, {}, 6 * 9},
         {"QuickGelu", {x}, x, {}, 6 * 6},
         {"BiasSplitGelu", {tensor({2, 6}), weight({6})}, x, {}, 6 * 6 + 12}},
        "com.microsoft");
}

TEST(Elementwise, CountsTheBroadcastOutputAndReadsTheSmallOperandOnce) {
  NodeCost c = cost("Add", {tensor({4, 5}), tensor({5})}, {tensor({4, 5})});
  EXPECT_DOUBLE_EQ(c.flops, 20);
  EXPECT_DOUBLE_EQ(c.bytes_read, 4 * 25);
  EXPECT_DOUBLE_EQ(c.needed_flops, 0);  // a bound counts multiply-adds only
  check({{"Sum", {tensor({6}), tensor({6}), tensor({6})}, tensor({6}), {}, 12},
         {"Mean", {tensor({6}), tensor({6})}, tensor({6}), {}, 12},
         {"Where", {tensor({6}, DataType::kBool), tensor({6}), tensor({1})}, tensor({6}), {}, 6}});
}

TEST(Elementwise, ReadsATensorThatIsBothOperandsOnce) {
  model::Node node{"square", "Mul", "", {3, 3}, {4}, {}};
  std::vector<Operand> inputs = {tensor({10}), tensor({10})}, outputs = {tensor({10})};
  EXPECT_DOUBLE_EQ(count_node(node, inputs, outputs).bytes_read, 40);
}

TEST(Elementwise, CastToTheSameTypeIsAView) {
  EXPECT_TRUE(work("Cast", {tensor({6})}, {tensor({6})}).view);
  NodeCost c = cost("Cast", {tensor({6})}, {tensor({6}, DataType::kFp16)});
  EXPECT_DOUBLE_EQ(c.bytes_read, 24);
  EXPECT_DOUBLE_EQ(c.bytes_written, 12);
}

TEST(Normalisation, CountsPerElement) {
  Operand x = tensor({1, 4, 5, 5}), scale = weight({4});
  check({{"BatchNormalization", {x, scale, scale, scale, scale}, x, {}, 200},
         {"InstanceNormalization", {x, scale, scale}, x, {}, 700},
         {"LayerNormalization", {x, weight({5}), weight({5})}, x, {}, 700},
         {"GroupNormalization", {x, scale, scale}, x, {{"num_groups", int64_t{2}}}, 700},
         {"RMSNormalization", {x, weight({5})}, x, {}, 400},
         {"LRN", {x}, x, {{"size", int64_t{5}}}, 900},  // square, 4 additions, 4 to finish
         {"LpNormalization", {x}, x, {}, 300},
         {"Softmax", {x}, x, {}, 500},
         {"LogSoftmax", {x}, x, {}, 500}});
  check({{"SkipLayerNormalization", {x, x, scale, scale}, x, {}, 800},
         {"SkipLayerNormalization", {x, x, scale, scale, scale}, x, {}, 900},
         {"GatherBlockQuantized", {x, scale, scale}, x, {}, 200}},
        "com.microsoft");
}

TEST(Normalisation, EmbeddingReadsOnlyTheRowsItNeeds) {
  Operand ids = tensor({1, 6}, DataType::kInt32);
  NodeCost c = cost("EmbedLayerNormalization",
                    {ids, ids, weight({1000, 8}), weight({512, 8}), weight({2, 8}), weight({8}), weight({8})},
                    {tensor({1, 6, 8})}, {}, "com.microsoft");
  EXPECT_DOUBLE_EQ(c.bytes_read, 4.0 * (6 + 6 + 48 + 48 + 16 + 8 + 8));
  EXPECT_DOUBLE_EQ(c.flops, 48 * 9);
}

TEST(Pool, CountsElementsUnderTheWindowWithoutPadding) {
  // 3 × 3, stride 2, padding 1 over 4 × 4 → 2 × 2: rows −1..1 and 1..3: 2 + 3 taps per dimension.
  Attributes window = {{"kernel_shape", ints({3, 3})}, {"strides", ints({2, 2})}, {"pads", ints({1, 1, 1, 1})}};
  check({{"MaxPool", {tensor({1, 2, 4, 4})}, tensor({1, 2, 2, 2}), window, 2 * 25},
         {"AveragePool", {tensor({1, 2, 4, 4})}, tensor({1, 2, 2, 2}), window, 2 * 25},
         {"GlobalAveragePool", {tensor({1, 2, 4, 4})}, tensor({1, 2, 1, 1}), {}, 32}});
  NodeCost blocked = cost("MaxPool", {tensor({1, 16, 4, 4})}, {tensor({1, 16, 2, 2})}, window, "com.microsoft.nchwc");
  EXPECT_DOUBLE_EQ(blocked.flops, 16 * 25);
}

TEST(Pool, ReadsOnlyWhatItsWindowTouches) {
  Attributes window = {{"kernel_shape", ints({1, 1})}, {"strides", ints({2, 2})}};
  EXPECT_DOUBLE_EQ(cost("MaxPool", {tensor({1, 1, 4, 4})}, {tensor({1, 1, 2, 2})}, window).bytes_read, 4 * 4);
}

TEST(Reduction, CountsTheInputAndWhatFinishesEachOutput) {
  Operand x = tensor({4, 8}), y = tensor({4, 1});
  check({{"ReduceSum", {x}, y, {}, 32},
         {"ReduceMean", {x}, y, {}, 36},
         {"ReduceMax", {x}, y, {}, 32},
         {"ReduceL2", {x}, y, {}, 68},
         {"ReduceLogSumExp", {x}, y, {}, 4 * 32 + 8},
         {"ArgMax", {x}, tensor({4, 1}, DataType::kInt64), {}, 32},
         {"CumSum", {x, constant({1})}, x, {}, 32},
         {"TopK", {x, constant({4})}, tensor({4, 4}), {}, 32 * 2}});
}

TEST(Reduction, FourierTransformIsFiveNLogN) {
  check({{"DFT", {tensor({2, 8, 1})}, tensor({2, 8, 2}), {}, 2 * 5 * 8 * 3},
         {"STFT", {tensor({1, 64, 1}), constant({8}), tensor({16})}, tensor({1, 7, 9, 2}), {}, 7 * (5 * 16 * 4 + 16)}});
}

TEST(Movement, ViewsMoveNothing) {
  Operand x = tensor({2, 3, 4});
  for (const char* op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"}) {
    NodeWork w = work(op, {x, constant({1})}, {tensor({24})});
    EXPECT_TRUE(w.view) << op;
    EXPECT_DOUBLE_EQ(w.cost.bytes_read + w.cost.bytes_written + w.cost.flops, 0) << op;
  }
}

TEST(Movement, CopiesMoveTheirOperandsOnce) {
  Operand x = tensor({2, 3, 4});
  NodeCost c = cost("Transpose", {x}, {tensor({4, 3, 2})});
  EXPECT_DOUBLE_EQ(c.bytes_read, 96);
  EXPECT_DOUBLE_EQ(c.bytes_written, 96);
  EXPECT_DOUBLE_EQ(c.flops, 0);
  EXPECT_DOUBLE_EQ(cost("Concat", {x, x}, {tensor({4, 3, 4})}).bytes_written, 192);
  EXPECT_DOUBLE_EQ(cost("Expand", {tensor({1, 4}), constant({3, 4})}, {tensor({3, 4})}).bytes_written, 48);
}

TEST(Movement, TransposeThatOnlyMovesLengthOneIsAView) {
  EXPECT_TRUE(work("Transpose", {tensor({2, 1, 4})}, {tensor({1, 2, 4})}, {{"perm", ints({1, 0, 2})}}).view);
  EXPECT_FALSE(work("Transpose", {tensor({2, 3, 4})}, {tensor({3, 2, 4})}, {{"perm", ints({1, 0, 2})}}).view);
}

TEST(Movement, SelectionsReadOnlyWhatTheyTake) {
  EXPECT_DOUBLE_EQ(cost("Slice", {tensor({100, 4})}, {tensor({2, 4})}).bytes_read, 32);
  NodeCost gathered = cost("Gather", {weight({30522, 8}), tensor({6}, DataType::kInt64)}, {tensor({6, 8})});
  EXPECT_DOUBLE_EQ(gathered.bytes_read, 6 * 8 * 4 + 6 * 8);
  EXPECT_EQ(gathered.parameters, 30522 * 8);
  EXPECT_DOUBLE_EQ(gathered.weight_bytes, 6 * 8 * 4);
}

TEST(Sampling, InterpolatesOnlyResizedDimensions) {
  Operand x = tensor({1, 2, 4, 4}), y = tensor({1, 2, 8, 8}), wide = tensor({1, 2, 4, 8});
  auto mode = [](const char* name) { return Attributes{{"mode", std::string(name)}}; };
  check({{"Resize", {x}, y, mode("nearest"), 0},
         {"Resize", {x}, y, mode("linear"), 128 * 7},
         {"Resize", {x}, y, mode("cubic"), 128 * 31},
         {"Resize", {x}, wide, mode("linear"), 64 * 3},
         {"Upsample", {x}, y, mode("linear"), 128 * 7},
         {"GridSample", {x, tensor({1, 5, 6, 2})}, tensor({1, 2, 5, 6}), mode("bilinear"), 60 * 7 + 60 * 4}});
}

TEST(Sampling, RegionsAndBoxes) {
  check({{"RoiAlign",
          {tensor({1, 2, 9, 9}), tensor({3, 4}), tensor({3}, DataType::kInt64)},
          tensor({3, 2, 7, 7}),
          {{"sampling_ratio", int64_t{2}}},
          3 * 2 * 49 * 32},
         {"NonMaxSuppression",
          {tensor({1, 100, 4}), tensor({1, 2, 100}), constant({10})},
          tensor({5, 3}, DataType::kInt64),
          {},
          2 * 100}});
  // How many boxes are compared is the data's.
  EXPECT_EQ(cost("NonMaxSuppression", {tensor({1, 100, 4}), tensor({1, 2, 100}), constant({10})},
                 {tensor({5, 3}, DataType::kInt64)})
                .data_flops,
            2 * 10 * 100 * 14);
}

TEST(Quantisation, CountsConversionsBesideTheArithmetic) {
  Operand x = tensor({8}), q = tensor({8}, DataType::kUint8), scale = weight({}), zero = weight({}, DataType::kUint8);
  check({{"QuantizeLinear", {x, scale, zero}, q, {}, 24}, {"DequantizeLinear", {q, scale, zero}, x, {}, 16}});
  check({{"QLinearAdd", {q, scale, zero, q, scale, zero, scale, zero}, q, {}, 64}}, "com.microsoft");
}

TEST(Rules, OperatorWithoutRuleIsCountedByItsBytesAndMarked) {
  NodeCost c = cost("Frobnicate", {tensor({8})}, {tensor({4})}, {}, "com.example");
  EXPECT_FALSE(c.has_rule);
  EXPECT_DOUBLE_EQ(c.flops, 0);
  EXPECT_DOUBLE_EQ(c.bytes_read, 32);
  EXPECT_DOUBLE_EQ(c.bytes_written, 16);
}

TEST(Rules, StandardOperatorsAreKnownUnderBothNamesOfTheirDomain) {
  const auto known = [](const std::string& domain, const std::string& op) {
    return cost(op, {tensor({8})}, {tensor({8})}, {}, domain).has_rule;
  };
  EXPECT_TRUE(known("", "Relu"));
  EXPECT_TRUE(known("ai.onnx", "Relu"));
  EXPECT_TRUE(known("com.microsoft", "Relu"));
  EXPECT_FALSE(known("com.example", "Relu"));
}

TEST(Rules, NoOperatorFailsOnOperandsThatMakeNoSense) {
  int64_t huge = std::numeric_limits<int64_t>::max(), low = std::numeric_limits<int64_t>::min();
  Attributes hostile = {{"strides", ints({huge, low, 0})},
                        {"dilations", ints({huge, -1, 0})},
                        {"pads", ints({low, huge, low, huge, 0, 0})},
                        {"kernel_shape", ints({huge, huge})},
                        {"auto_pad", std::string("SAME_LOWER")},
                        {"axis", low},
                        {"perm", ints({huge, low})},
                        {"group", low},
                        {"num_heads", low},
                        {"equation", std::string("...,->,...\xff")},
                        {"size", huge},
                        {"K", huge},
                        {"N", low},
                        {"num_scan_inputs", huge},
                        {"sampling_ratio", huge}};
  std::vector<std::vector<Operand>> nonsense = {
      {},
      {tensor({})},
      {absent()},
      {tensor({-1})},
      {tensor({0}), tensor({0})},
      {tensor({1, 2, 3, 4, 5, 6})},
      {tensor({2}, DataType::kBytes), constant({})},
      {tensor({1, 1, 1}), tensor({1}), tensor({1, 1})},
      {tensor({huge, huge, huge, huge}), weight({huge, 3, huge, huge}), constant({huge})}};
  for (auto rules : {elementwise_rules(), matmul_rules(), convolution_rules(), pooling_rules(), recurrent_rules(),
                     attention_rules(), normalisation_rules(), reduction_rules(), movement_rules(), sampling_rules(),
                     quantisation_rules(), control_rules()})
    for (const Rule& rule : rules)
      for (const auto& inputs : nonsense)
        for (const auto& outputs : nonsense)
          for (const Attributes& attributes : {Attributes{}, hostile}) {
            NodeCost c = cost(std::string(rule.op), inputs, outputs, attributes, std::string(rule.domain));
            EXPECT_EQ(c.op, rule.op);
          }
}

TEST(Operators, ColumnsAreFoundByDomainAndName) {
  EXPECT_EQ(operator_of("", "Relu").buffer, Buffer::kOverwrites);
  EXPECT_EQ(operator_of("ai.onnx", "Reshape").values, Values::kSameValues);
  EXPECT_EQ(operator_of(model::kMicrosoft, "Softmax").backward, Backward::kKeepsOutput);
  EXPECT_EQ(operator_of(model::kBlocked, "Conv").kernel, KernelFamily::kConvolution);
  EXPECT_TRUE(operator_of("", "NonZero").is(Trait::kDataSized));
  EXPECT_FALSE(operator_of("", "NonZero").is(Trait::kRandom));
  EXPECT_TRUE(operator_of("", "Transpose").rearranges());
  EXPECT_TRUE(operator_of("", "BatchNormalization").is(Trait::kRunningStatistics));
  EXPECT_FALSE(operator_of("", "LayerNormalization").is(Trait::kRunningStatistics));
  EXPECT_TRUE(operator_of(model::kMicrosoft, "DequantizeLinear").is(Trait::kDequantises));
  EXPECT_TRUE(operator_of("", "GatherElements").is(Trait::kLooksUp));
  EXPECT_FALSE(operator_of("", "GatherND").is(Trait::kLooksUp)) << "its indices are places in several axes";
}

TEST(Operators, OneWithoutARowHasTheDefaults) {
  for (const auto& [domain, op] : {std::pair{"", "Nonsense"}, {"example.com", "Relu"}}) {
    const Operator& row = operator_of(domain, op);
    EXPECT_EQ(row.values, Values::kNewValues);
    EXPECT_EQ(row.buffer, Buffer::kOwnBuffer);
    EXPECT_EQ(row.backward, Backward::kUnknownGradient);
    EXPECT_EQ(row.integers, Integers::kNotInIntegers);
    EXPECT_EQ(row.kernel, KernelFamily::kOtherKernel);
    EXPECT_EQ(row.traits, 0);
  }
}

}  // namespace
}  // namespace ridge::cost::testing
