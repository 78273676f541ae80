#include "sizing/backward.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace ridge::sizing {
namespace {

using Operands = std::vector<BackwardOperand>;

double elements(const BackwardOperand& operand) {
  if (!operand.shape) return 0;
  double count = 1;
  for (int64_t dimension : *operand.shape) count *= static_cast<double>(std::max<int64_t>(dimension, 0));
  return count;
}

bool wants(const Operands& operands, size_t i) { return i < operands.size() && operands[i].wants_gradient; }

bool any_other_wants(const Operands& operands, size_t but) {
  for (size_t i = 0; i < operands.size(); ++i)
    if (i != but && operands[i].wants_gradient) return true;
  return false;
}

enum class Rule {
  kNothing,          // linear in its inputs: Add, Concat, Resize, ReduceMean …
  kInput,            // gelu, log, clip …: the first input
  kOutput,           // relu, sigmoid, tanh, exp, softmax: `result` in derivatives.yaml
  kInputAndOutput,   // norms, extremes, products over an axis
  kProduct,          // an operand is kept if another one wants a gradient: d(a·b) = b·da + a·db
  kDivision,         // d(a/b) = da/b − a·db/b²
  kPower,            // input; output too if the exponent is trained
  kIndices,          // the second input: where values came from
  kCondition,        // Where: the first input
  kAllInputs,        // Max, Min, Einsum-like: all that want gradients
  kChannelNorm,      // input, mean and inverse deviation per channel (save_mean, save_invstd)
  kRowNorm,          // input, mean and inverse deviation per normalised row (mean, rstd)
  kMaxPool,          // input and the 64-bit index of each maximum (self, result1)
  kDropout,          // a mask of one byte per element (native_dropout: result1)
  kLstm,             // 4 gates, cell, tanh(cell) per step: derived from the equations in ONNX's LSTM
  kGru,              // 3 gates and the candidate's recurrent term per step: derived from ONNX's GRU
  kSecondOutput,     // TopK: indices
  kConvolutionLike,  // X kept if W is trained, W if X wants a gradient (convolution_backward: input, weight)
};

using Table = std::unordered_map<std::string_view, Rule>;

void add(Table& table, Rule rule, std::initializer_list<std::string_view> ops) {
  for (std::string_view op : ops) table.emplace(op, rule);
}

Table make_table() {
  Table t;
  add(t, Rule::kNothing,
      {"Add",
       "Sub",
       "Neg",
       "Sum",
       "Mean",
       "Concat",
       "Split",
       "Slice",
       "Pad",
       "Reshape",
       "Flatten",
       "Squeeze",
       "Unsqueeze",
       "Transpose",
       "Identity",
       "Expand",
       "Tile",
       "Cast",
       "CastLike",
       "ReduceMean",
       "ReduceSum",
       "Resize",
       "Upsample",
       "DepthToSpace",
       "SpaceToDepth",
       "GlobalAveragePool",
       "CumSum",
       "Trilu",
       "ReverseSequence",
       "QuantizeLinear",
       "DequantizeLinear",
       "Crop",
       "CenterCropPad",
       "Col2Im"});
  add(t, Rule::kInput, {"Gelu",     "Erf",         "Log",
                        "Abs",      "Elu",         "Celu",
                        "Selu",     "Softplus",    "Softsign",
                        "Mish",     "HardSigmoid", "HardSwish",
                        "Clip",     "LeakyRelu",   "ThresholdedRelu",
                        "Swish",    "Silu",        "QuickGelu",
                        "FastGelu", "BiasGelu",    "PRelu",
                        "Sin",      "Cos",         "AveragePool",
                        "LpPool",   "ReduceL1",    "ReduceSumSquare",
                        "Shrink",   "Atan",        "Asin",
                        "Acos",     "Sinh",        "Cosh"});
  add(t, Rule::kOutput, {"Relu", "Sigmoid", "Tanh", "Exp", "Sqrt", "Reciprocal", "Softmax", "LogSoftmax", "Tan"});
  add(t, Rule::kInputAndOutput,
      {"ReduceL2", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceLogSumExp", "ReduceLogSum", "LRN", "LpNormalization",
       "RNN"});
  add(t, Rule::kProduct, {"Mul", "MatMul", "Gemm", "Einsum", "FusedMatMul"});
  add(t, Rule::kConvolutionLike, {"Conv", "ConvTranspose", "DeformConv"});
  add(t, Rule::kDivision, {"Div"});
  add(t, Rule::kPower, {"Pow"});
  add(t, Rule::kIndices,
      {"Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "Scatter", "RoiAlign"});
  add(t, Rule::kCondition, {"Where"});
  add(t, Rule::kAllInputs, {"Max", "Min", "GridSample"});
  add(t, Rule::kChannelNorm, {"BatchNormalization", "InstanceNormalization", "GroupNormalization"});
  add(t, Rule::kRowNorm, {"LayerNormalization", "SimplifiedLayerNormalization", "RMSNormalization"});
  add(t, Rule::kMaxPool, {"MaxPool", "GlobalMaxPool"});
  add(t, Rule::kDropout, {"Dropout"});
  add(t, Rule::kLstm, {"LSTM"});
  add(t, Rule::kGru, {"GRU"});
  add(t, Rule::kSecondOutput, {"TopK"});
  return t;
}

const Rule* find_rule(const model::Node& node) {
  static const Table kTable = make_table();
  auto found = kTable.find(node.op);
  return found == kTable.end() ? nullptr : &found->second;
}

void keep_products(const Operands& inputs, size_t most, Kept& kept) {
  for (size_t i = 0; i < std::min(inputs.size(), most); ++i)
    if (any_other_wants(inputs, i)) kept.inputs.push_back(i);
}

void keep_all(const Operands& inputs, const Operands& outputs, Kept& kept) {
  for (size_t i = 0; i < inputs.size(); ++i) kept.inputs.push_back(i);
  for (size_t i = 0; i < outputs.size(); ++i) kept.outputs.push_back(i);
}

// Values that are normalised together: instances × channels (of [N, C, …]), channels alone for a whole batch.
double channel_statistics(const model::Node& node, const BackwardOperand& x) {
  if (!x.shape || x.shape->size() < 2) return 0;
  double channels = static_cast<double>(std::max<int64_t>((*x.shape)[1], 0));
  if (node.op == "BatchNormalization") return 2 * channels;
  return 2 * channels * static_cast<double>(std::max<int64_t>((*x.shape)[0], 0));
}

double row_statistics(const model::Node& node, const BackwardOperand& x) {
  if (!x.shape || x.shape->empty()) return 0;
  int64_t rank = static_cast<int64_t>(x.shape->size());
  int64_t axis = model::attribute_or<int64_t>(node, "axis", -1);
  if (axis < 0) axis += rank;
  double rows = 1;
  for (int64_t d = 0; d < std::min(axis, rank); ++d)
    rows *= static_cast<double>(std::max<int64_t>((*x.shape)[static_cast<size_t>(d)], 0));
  return 2 * rows;
}

void apply(Rule rule, const model::Node& node, const Operands& inputs, const Operands& outputs, Kept& kept) {
  const BackwardOperand none;
  const BackwardOperand& x = inputs.empty() ? none : inputs[0];
  const BackwardOperand& y = outputs.empty() ? none : outputs[0];
  switch (rule) {
    case Rule::kNothing: return;
    case Rule::kInput:
    case Rule::kCondition: kept.inputs = {0}; return;
    case Rule::kOutput: kept.outputs = {0}; return;
    case Rule::kInputAndOutput: kept.inputs = {0}, kept.outputs = {0}; return;
    case Rule::kProduct: return keep_products(inputs, node.op == "Gemm" ? 2 : inputs.size(), kept);
    case Rule::kConvolutionLike:
      if (wants(inputs, 1)) kept.inputs.push_back(0);
      if (wants(inputs, 0)) kept.inputs.push_back(1);
      return;
    case Rule::kDivision:
      if (wants(inputs, 1)) kept.inputs.push_back(0);
      kept.inputs.push_back(1);
      return;
    case Rule::kPower:
      kept.inputs = {0};
      if (wants(inputs, 1)) kept.outputs = {0};
      return;
    case Rule::kIndices: kept.inputs = {1}; return;
    case Rule::kSecondOutput: kept.outputs = {1}; return;
    case Rule::kAllInputs: return keep_all(inputs, {}, kept);
    case Rule::kChannelNorm: kept.inputs = {0}, kept.extra_elements = channel_statistics(node, x); return;
    case Rule::kRowNorm: kept.inputs = {0}, kept.extra_elements = row_statistics(node, x); return;
    case Rule::kMaxPool: kept.inputs = {0}, kept.mask_bytes = 8 * elements(y); return;
    case Rule::kDropout: kept.mask_bytes = elements(x); return;
    case Rule::kLstm: kept.inputs = {0}, kept.outputs = {0}, kept.extra_elements = 6 * elements(y); return;
    case Rule::kGru: kept.inputs = {0}, kept.outputs = {0}, kept.extra_elements = 4 * elements(y); return;
  }
}

}  // namespace

Kept kept_for_backward(const model::Node& node, const Operands& inputs, const Operands& outputs) {
  Kept kept;
  bool needed = std::any_of(inputs.begin(), inputs.end(), [](const auto& operand) { return operand.wants_gradient; });
  if (!needed || !is_differentiable(node)) return kept;
  if (const Rule* rule = find_rule(node)) {
    apply(*rule, node, inputs, outputs, kept);
  } else {
    kept.has_rule = false;
    keep_all(inputs, outputs, kept);
  }
  return kept;
}

bool is_differentiable(const model::Node& node) {
  static const std::unordered_set<std::string_view> kNone = {"Shape",
                                                             "Size",
                                                             "ArgMax",
                                                             "ArgMin",
                                                             "Equal",
                                                             "Greater",
                                                             "GreaterOrEqual",
                                                             "Less",
                                                             "LessOrEqual",
                                                             "And",
                                                             "Or",
                                                             "Not",
                                                             "Xor",
                                                             "NonZero",
                                                             "IsNaN",
                                                             "IsInf",
                                                             "OneHot",
                                                             "Floor",
                                                             "Ceil",
                                                             "Round",
                                                             "Sign",
                                                             "Range",
                                                             "ConstantOfShape",
                                                             "Constant",
                                                             "EyeLike",
                                                             "NonMaxSuppression",
                                                             "RandomNormal",
                                                             "RandomUniform",
                                                             "Unique",
                                                             "BitShift",
                                                             "RandomNormalLike",
                                                             "RandomUniformLike",
                                                             "Multinomial",
                                                             "Bernoulli"};
  return !kNone.contains(node.op);
}

bool is_view_in_training(const model::Node& node) {
  static const std::unordered_set<std::string_view> kViews = {
      "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Transpose", "Slice", "Split", "Expand"};
  return kViews.contains(node.op);
}

}  // namespace ridge::sizing
