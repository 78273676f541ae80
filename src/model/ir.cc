#include "model/ir.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/proc_text.h"

namespace ridge::model {
namespace {

using Sizes = std::vector<int64_t>;

constexpr int64_t kIrOpset = 23;  // of ONNX, whose operators the rows name

constexpr std::pair<std::string_view, int32_t> kTypes[] = {
    {"f32", onnx::TensorProto::FLOAT},
    {"f16", onnx::TensorProto::FLOAT16},
    {"bf16", onnx::TensorProto::BFLOAT16},
    {"f64", onnx::TensorProto::DOUBLE},
    {"i64", onnx::TensorProto::INT64},
    {"i32", onnx::TensorProto::INT32},
    {"i16", onnx::TensorProto::INT16},
    {"i8", onnx::TensorProto::INT8},
    {"i4", onnx::TensorProto::INT4},
    {"i2", onnx::TensorProto::INT2},
    {"u64", onnx::TensorProto::UINT64},
    {"u32", onnx::TensorProto::UINT32},
    {"u16", onnx::TensorProto::UINT16},
    {"u8", onnx::TensorProto::UINT8},
    {"u4", onnx::TensorProto::UINT4},
    {"u2", onnx::TensorProto::UINT2},
    {"boolean", onnx::TensorProto::BOOL},
    {"string", onnx::TensorProto::STRING},
    {"f8e4m3", onnx::TensorProto::FLOAT8E4M3FN},
    {"f8e5m2", onnx::TensorProto::FLOAT8E5M2},
    {"f8e8m0", onnx::TensorProto::FLOAT8E8M0},
    {"f4e2m1", onnx::TensorProto::FLOAT4E2M1},
};

int32_t onnx_type(std::string_view type) {
  for (const auto& [name, number] : kTypes)
    if (name == type) return number;
  return 0;
}

onnx::AttributeProto& add(onnx::NodeProto& node, const char* name, onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}
void set(onnx::NodeProto& node, const char* name, int64_t value) {
  add(node, name, onnx::AttributeProto::INT).set_i(value);
}
void set(onnx::NodeProto& node, const char* name, const std::string& value) {
  add(node, name, onnx::AttributeProto::STRING).set_s(value);
}
void set(onnx::NodeProto& node, const char* name, const Sizes& values) {
  onnx::AttributeProto& list = add(node, name, onnx::AttributeProto::INTS);
  for (const int64_t value : values) list.add_ints(value);
}

// One thread.
class Writer {
 public:
  Writer(const IrModel& ir, onnx::ModelProto& model) : ir_(ir), graph_(*model.mutable_graph()) {
    for (const IrOperator& op : ir.operators) {
      for (const int tensor : op.outputs) makers_[tensor] = &op;
      read_.insert(op.inputs.begin(), op.inputs.end());
    }
    for (const IrTensor& tensor : ir.tensors) names_.push_back(unique(tensor.name));
  }

  GraphValues write();

  const IrOperator& op() const { return *op_; }
  size_t inputs() const { return op_->inputs.size(); }
  const IrTensor& tensor_of(int index) const { return ir_.tensors[static_cast<size_t>(index)]; }
  const IrTensor& tensor(size_t input) const { return tensor_of(op_->inputs[input]); }
  const IrTensor& result() const { return tensor_of(op_->outputs[0]); }
  size_t rank(size_t input) const { return input < inputs() && tensor(input).shape ? tensor(input).shape->size() : 0; }
  std::string in(size_t input) const { return name_of(op_->inputs[input]); }
  std::vector<std::string> ins(size_t count) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(inputs(), count); ++i) names.push_back(in(i));
    return names;
  }
  const std::string& name_of(int tensor) const { return names_[static_cast<size_t>(tensor)]; }
  const IrOperator* maker(int tensor) const {
    const auto found = makers_.find(tensor);
    return found == makers_.end() ? nullptr : found->second;
  }
  // Of a small constant; empty: it is none.
  Sizes values(size_t input) const {
    const IrOperator* from = input < inputs() ? maker(op_->inputs[input]) : nullptr;
    return from == nullptr ? Sizes() : from->values;
  }
  std::string text(const char* key) const {
    const auto found = op_->attributes.find(key);
    return found == op_->attributes.end() ? "" : found->second;
  }
  Sizes integers(const char* key) const {
    Sizes numbers;
    std::string_view left = op_->attributes.contains(key) ? op_->attributes.at(key) : std::string_view();
    while (!left.empty()) {
      const size_t comma = std::min(left.find(','), left.size());
      if (const std::optional<int64_t> number = to_number(trim(left.substr(0, comma)))) numbers.push_back(*number);
      left.remove_prefix(std::min(comma + 1, left.size()));
    }
    return numbers;
  }

  // The operator's own node, with the attributes that costs read.
  onnx::NodeProto& node(const char* op, const std::vector<std::string>& inputs);
  // A node before it; its result.
  std::string step(const char* op, const std::vector<std::string>& inputs, const IrTensor& result,
                   onnx::NodeProto** made = nullptr);

 private:
  std::string unique(const std::string& stem) {
    std::string name = stem;
    for (int& number = numbers_.try_emplace(stem, 1).first->second; !taken_.insert(name).second;)
      name = stem + ":" + std::to_string(++number);
    return name;
  }
  static void fill(const IrTensor& from, const std::string& name, onnx::ValueInfoProto& value) {
    value.set_name(name);
    onnx::TypeProto_Tensor& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx_type(from.type));
    if (!from.shape) return;
    type.mutable_shape();
    for (const int64_t size : *from.shape) {
      auto& dimension = *type.mutable_shape()->add_dim();
      if (size >= 0) dimension.set_dim_value(size);
    }
  }
  void fill(int tensor, onnx::ValueInfoProto& value) const { fill(tensor_of(tensor), name_of(tensor), value); }
  void add_constant(GraphValues& values);
  void add_result();
  void add_computed();

  const IrModel& ir_;
  onnx::GraphProto& graph_;
  const IrOperator* op_ = nullptr;
  std::vector<std::string> names_;  // by tensor
  std::set<std::string> taken_;
  std::map<std::string, int> numbers_;  // by stem: the last that was tried
  std::map<int, const IrOperator*> makers_;
  std::set<int> read_;
  std::set<int> given_;  // tensors that are outputs already
};

// ------------------------------------------------------------------------------------------------------------ rows
// Operators: docs.openvino.ai, "Available Operation Sets", opset1 to opset16; onnx.ai, "ONNX Operators". A composition
// (x·sigmoid(x)) is the definition in OpenVINO's text.

// Writes the writer's operator as `op`; false: a form without a counterpart, nothing is written.
using Write = bool (*)(Writer& w, const char* op);

void set_pads(Writer& w, onnx::NodeProto& node) {
  const std::string automatic = w.text("auto_pad");
  if (automatic.starts_with("same_"))
    return set(node, "auto_pad", std::string(automatic == "same_upper" ? "SAME_UPPER" : "SAME_LOWER"));
  Sizes pads = w.integers("pads_begin");
  const Sizes ends = w.integers("pads_end");
  pads.insert(pads.end(), ends.begin(), ends.end());
  if (automatic != "valid") set(node, "pads", pads);
}

bool write_window(Writer& w, const char* op) {
  set_pads(w, w.node(op, w.ins(w.op().type.ends_with("Pool") ? 1 : 2)));
  return true;
}

// Weights [groups, a, b, …] as [groups · a, b, …].
bool write_groups(Writer& w, const char* op) {
  if (w.rank(1) < 3) return false;
  IrTensor weights = w.tensor(1);
  constexpr int64_t kMost = 1 << 24;
  const auto sized = [](int64_t size) { return size > 0 && size < kMost; };
  if (!std::all_of(weights.shape->begin(), weights.shape->end(), sized)) return false;
  const int64_t groups = weights.shape->front();
  weights.shape->erase(weights.shape->begin());
  weights.shape->front() *= groups;
  onnx::NodeProto& node = w.node(op, {w.in(0), w.step("Reshape", {w.in(1)}, weights)});
  set_pads(w, node);
  set(node, "group", groups);
  return true;
}

std::string transposed(Writer& w, size_t input, const char* wanted) {
  const size_t rank = w.rank(input);
  if (w.text(wanted) != "true" || rank < 2) return w.in(input);
  IrTensor turned = w.tensor(input);
  std::swap((*turned.shape)[rank - 1], (*turned.shape)[rank - 2]);
  Sizes order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[rank - 1], order[rank - 2]);
  onnx::NodeProto* transpose = nullptr;
  const std::string result = w.step("Transpose", {w.in(input)}, turned, &transpose);
  set(*transpose, "perm", order);
  return result;
}

bool write_matmul(Writer& w, const char* op) {
  if (!w.tensor(0).shape || !w.tensor(1).shape) return false;
  const std::string left = transposed(w, 0, "transpose_a");
  w.node(op, {left, transposed(w, 1, "transpose_b")});
  return true;
}

bool write_transpose(Writer& w, const char* op) {
  const Sizes order = w.values(1);
  onnx::NodeProto& node = w.node(op, w.ins(1));
  if (!order.empty()) set(node, "perm", order);
  return true;
}

// The axis is the last of three inputs.
bool write_gather(Writer& w, const char* op) {
  const Sizes axis = w.values(2);
  onnx::NodeProto& node = w.node(op, w.ins(2));
  if (axis.size() == 1) set(node, "axis", axis.front());
  return true;
}

bool write_negated(Writer& w, const char* op) {
  w.node("Not", {w.step(op, w.ins(2), w.result())});
  return true;
}

bool write_squared_difference(Writer& w, const char* op) {
  const std::string difference = w.step(op, w.ins(2), w.result());
  w.node("Mul", {difference, difference});
  return true;
}

// x · sigmoid(β·x)
bool write_swish(Writer& w, const char* op) {
  const std::string scaled = w.inputs() > 1 ? w.step(op, w.ins(2), w.result()) : w.in(0);
  w.node(op, {w.in(0), w.step("Sigmoid", {scaled}, w.result())});
  return true;
}

bool write_gelu(Writer& w, const char* op) {
  set(w.node(op, w.ins(1)), "approximate", std::string(w.text("approximation_mode") == "TANH" ? "tanh" : "none"));
  return true;
}

bool is_byte_constant(const Writer& w, const IrOperator* op) {
  if (op == nullptr || op->type != "Constant") return false;
  constexpr std::array<std::string_view, 4> kBytes = {"i8", "u8", "i4", "u4"};
  return std::find(kBytes.begin(), kBytes.end(), w.tensor_of(op->outputs[0]).type) != kBytes.end();
}

// The layer that a Convert converts.
const IrOperator* converted(const Writer& w, const IrOperator* op) {
  return op != nullptr && op->type == "Convert" && !op->inputs.empty() ? w.maker(op->inputs[0]) : nullptr;
}

// (Convert(bytes) − zero) · scale is how weights of 8 and 4 bits are stored.
bool write_multiply(Writer& w, const char* op) {
  const IrOperator* weights = w.maker(w.op().inputs[0]);
  std::vector<std::string> operands = {"", w.in(1)};
  if (weights != nullptr && weights->type == "Subtract") {
    const IrOperator* zero = converted(w, w.maker(weights->inputs[1]));
    weights = is_byte_constant(w, zero) ? w.maker(weights->inputs[0]) : nullptr;
    if (weights != nullptr) operands.push_back(w.name_of(zero->outputs[0]));
  }
  const IrOperator* bytes = converted(w, weights);
  // A product of a converted constant with a variable is not a dequantisation: its shape may be the other's.
  const IrOperator* scale = w.maker(w.op().inputs[1]);
  const IrOperator* plain = converted(w, scale);
  const bool scaled =
      scale != nullptr && (scale->type == "Constant" || (plain != nullptr && plain->type == "Constant"));
  if (!is_byte_constant(w, bytes) || !scaled) return w.node(op, w.ins(2)), true;
  operands[0] = w.name_of(bytes->outputs[0]);
  w.node("DequantizeLinear", operands);
  return true;
}

// Rounded to `levels` values between two bounds: quantised and dequantised.
bool write_fake_quantise(Writer& w, const char* op) {
  const Sizes levels = w.integers("levels");
  if (!levels.empty() && levels.front() > 256) return false;
  IrTensor bytes = w.result();
  bytes.type = "u8";
  w.node("DequantizeLinear", {w.step(op, w.ins(1), bytes)});
  return true;
}

// Opset 1 has the data third.
bool write_batch_norm(Writer& w, const char* op) {
  if (w.inputs() != 5) return false;
  const bool old = w.rank(0) == 1 && w.rank(2) > 1;
  w.node(op, old ? std::vector{w.in(2), w.in(0), w.in(1), w.in(3), w.in(4)} : w.ins(5));
  return true;
}

// Q·Kᵀ, scaled and masked, then softmax and ·V, of [batch, heads, length, size].
bool write_attention(Writer& w, const char* op) {
  if (w.rank(0) != 4 || w.rank(1) != 4 || w.rank(2) != 4) return false;
  onnx::NodeProto& node = w.node(op, w.ins(w.rank(3) > 0 ? 4 : 3));
  if (w.text("causal") == "true") set(node, "is_causal", int64_t{1});
  return true;
}

// True if the tensor is computed from shapes and constants alone.
bool of_shapes(const Writer& w, int tensor, int depth = 0) {
  const IrOperator* maker = w.maker(tensor);
  constexpr int kDeepest = 8;
  if (maker == nullptr || depth > kDeepest) return false;
  if (maker->type == "Constant" || maker->type == "ShapeOf") return true;
  constexpr size_t kMostInputs = 4;  // of what computes with shapes: the walk stays small
  return !maker->inputs.empty() && maker->inputs.size() <= kMostInputs &&
         std::all_of(maker->inputs.begin(), maker->inputs.end(),
                     [&](int input) { return of_shapes(w, input, depth + 1); });
}

// X [batch, length, size], states, lengths, W, R, B, in ONNX's places. Lengths that follow from shapes are those of the
// whole sequence.
bool write_recurrent(Writer& w, const char* op) {
  const size_t lengths = w.op().type == "LSTMSequence" ? 3 : 2;
  if (w.inputs() != lengths + 4) return false;
  const std::string stated = of_shapes(w, w.op().inputs[lengths]) ? "" : w.in(lengths);
  std::vector<std::string> inputs = {w.in(0), w.in(lengths + 1), w.in(lengths + 2), w.in(lengths + 3), stated, w.in(1)};
  if (lengths > 2) inputs.push_back(w.in(2));
  w.node(op, inputs);
  return true;
}

// Sizes or scales follow the data.
bool write_interpolate(Writer& w, const char* op) {
  const std::string mode = w.text("mode");
  const bool cubic = mode.find("cubic") != std::string::npos, linear = mode.find("linear") != std::string::npos;
  onnx::NodeProto& node = w.node(op, {w.in(0), "", w.inputs() > 1 ? w.in(1) : ""});
  set(node, "mode", std::string(cubic ? "cubic" : linear ? "linear" : "nearest"));
  return true;
}

// The same word and operands in both.
constexpr std::string_view kSame =
    " Abs Acos Acosh Add Asin Asinh Atan Atanh BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Concat Cos Cosh CumSum "
    "DepthToSpace Einsum "
    "Elu Equal Erf Exp Floor GatherElements GatherND Greater GroupNormalization IsInf IsNaN Less Log LogSoftmax Mish "
    "Mod NonZero Pad "
    "Range ReduceL1 ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum Relu Reshape ReverseSequence Round "
    "Sigmoid Sign Sin "
    "Sinh Slice Softmax SpaceToDepth Sqrt Squeeze Tan Tanh Tile TopK Unsqueeze ";

struct Row {
  std::string_view type;
  const char* op;
  size_t inputs = SIZE_MAX;  // those that are ONNX's operands too, from the first
  Write write = nullptr;     // absent: these
};
constexpr Row kRows[] = {
    {"AvgPool", "AveragePool", 1, write_window},
    {"BatchNormInference", "BatchNormalization", 5, write_batch_norm},
    {"Broadcast", "Expand", 2},
    {"Ceiling", "Ceil"},
    {"Clamp", "Clip"},
    {"Convert", "Cast"},
    {"ConvertLike", "CastLike"},
    {"Convolution", "Conv", 2, write_window},
    {"ConvolutionBackpropData", "ConvTranspose", 2, write_window},
    {"Divide", "Div"},
    {"FakeQuantize", "QuantizeLinear", 1, write_fake_quantise},
    {"FloorMod", "Mod"},
    {"GRUSequence", "GRU", 6, write_recurrent},
    {"Gather", "Gather", 2, write_gather},
    {"Gelu", "Gelu", 1, write_gelu},
    {"GreaterEqual", "GreaterOrEqual"},
    {"GroupConvolution", "Conv", 2, write_groups},
    {"GroupConvolutionBackpropData", "ConvTranspose", 2, write_groups},
    {"HSigmoid", "HardSigmoid"},
    {"HSwish", "HardSwish"},
    {"HardSigmoid", "HardSigmoid", 1},
    {"Interpolate", "Resize", 1, write_interpolate},
    {"LRN", "LRN", 1},
    {"LSTMSequence", "LSTM", 7, write_recurrent},
    {"LessEqual", "LessOrEqual"},
    {"LogicalAnd", "And"},
    {"LogicalNot", "Not"},
    {"LogicalOr", "Or"},
    {"LogicalXor", "Xor"},
    {"MVN", "MeanVarianceNormalization", 1},
    {"MatMul", "MatMul", 2, write_matmul},
    {"MaxPool", "MaxPool", 1, write_window},
    {"Maximum", "Max"},
    {"Minimum", "Min"},
    {"Multiply", "Mul", 2, write_multiply},
    {"Negative", "Neg"},
    {"NonMaxSuppression", "NonMaxSuppression", 5},
    {"NormalizeL2", "LpNormalization", 1},
    {"NotEqual", "Equal", 2, write_negated},
    {"PRelu", "PRelu"},
    {"Power", "Pow"},
    {"RNNSequence", "RNN", 6, write_recurrent},
    {"ScaledDotProductAttention", "Attention", 4, write_attention},
    {"ScatterElementsUpdate", "ScatterElements", 3},
    {"ScatterNDUpdate", "ScatterND"},
    {"Select", "Where"},
    {"Selu", "Selu", 1},
    {"ShapeOf", "Shape"},
    {"ShuffleChannels", "Transpose"},
    {"SoftPlus", "Softplus"},
    {"SoftSign", "Softsign"},
    {"Split", "Split", 1},
    {"SquaredDifference", "Sub", 2, write_squared_difference},
    {"StridedSlice", "Slice"},
    {"Subtract", "Sub"},
    {"Swish", "Mul", 2, write_swish},
    {"Transpose", "Transpose", 1, write_transpose},
    {"VariadicSplit", "Split", 1},
};

bool write_row(Writer& w) {
  const std::string& type = w.op().type;
  if (w.inputs() == 0) return false;
  for (const Row& row : kRows) {
    if (row.type != type) continue;
    if (row.write != nullptr) return row.write(w, row.op);
    w.node(row.op, w.ins(row.inputs));
    return true;
  }
  if (type.empty() || kSame.find(" " + type + " ") == std::string_view::npos) return false;
  w.node(type.c_str(), w.ins(SIZE_MAX));
  return true;
}

// ------------------------------------------------------------------------------------------------------------ nodes

onnx::NodeProto& Writer::node(const char* op, const std::vector<std::string>& inputs) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_name(op_->name);
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  size_t outputs = op_->outputs.size();  // without the last ones that are not read, such as the places of a maximum
  while (outputs > 1 && !read_.contains(op_->outputs[outputs - 1])) --outputs;
  for (size_t i = 0; i < outputs; ++i) node.add_output(name_of(op_->outputs[i]));
  for (const auto& [theirs, ours] :
       {std::pair("strides", "strides"), {"dilations", "dilations"}, {"kernel", "kernel_shape"}})
    if (const Sizes sizes = integers(theirs); !sizes.empty()) set(node, ours, sizes);
  for (const char* key : {"axis", "size"})
    if (const Sizes number = integers(key); number.size() == 1) set(node, key, number.front());
  for (const char* key : {"equation", "reduction"})
    if (const std::string value = text(key); !value.empty()) set(node, key, value);
  return node;
}

std::string Writer::step(const char* op, const std::vector<std::string>& inputs, const IrTensor& result,
                         onnx::NodeProto** made) {
  const std::string name = unique(op_->name + "/" + op);
  fill(result, name, *graph_.add_value_info());
  onnx::NodeProto& node = *graph_.add_node();
  node.set_name(name);
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(name);
  if (made != nullptr) *made = &node;
  return name;
}

void Writer::add_constant(GraphValues& values) {
  const IrTensor& tensor = result();
  onnx::TensorProto& constant = *graph_.add_initializer();
  constant.set_name(name_of(op_->outputs[0]));
  constant.set_data_type(onnx_type(tensor.type));
  for (const int64_t size : tensor.shape.value_or(Shape())) constant.add_dims(size);
  if (op_->values.empty()) return;
  SmallTensor& small = values[&graph_][constant.name()];
  small = {.onnx_type = constant.data_type(), .shape = *tensor.shape, .elements = {}};
  small.elements.assign(op_->values.begin(), op_->values.end());
}

// A tensor that is no result of an operator, or an output already, is copied.
void Writer::add_result() {
  const int source = op_->inputs[0];
  const IrOperator* from = maker(source);
  const bool computed = from != nullptr && from->type != "Parameter" && from->type != "Constant";
  std::string name = name_of(source);
  if (!computed || !given_.insert(source).second) name = step("Identity", {name}, tensor(0));
  fill(tensor(0), name, *graph_.add_output());
}

void Writer::add_computed() {
  if (op_->outputs.empty()) return;  // what only stores a state
  for (const int output : op_->outputs) fill(output, *graph_.add_value_info());
  if (!write_row(*this)) node(op_->type.c_str(), ins(SIZE_MAX)).set_domain(std::string(kIr));
}

GraphValues Writer::write() {
  GraphValues values;
  for (const IrOperator& op : ir_.operators) {
    op_ = &op;
    if (op.type == "Constant")
      add_constant(values);
    else if (op.type == "Parameter")
      fill(op.outputs[0], *graph_.add_input());
    else if (op.type == "Result")
      add_result();
    else
      add_computed();
  }
  return values;
}

}  // namespace

GraphValues write_as_onnx(const IrModel& ir, onnx::ModelProto& model) {
  model.Clear();
  model.set_producer_name(ir.producer);
  model.mutable_graph()->set_name(ir.name);
  onnx::OperatorSetIdProto& import = *model.add_opset_import();
  import.set_version(kIrOpset);
  return Writer(ir, model).write();
}

}  // namespace ridge::model
