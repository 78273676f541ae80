// Each element by itself, and what stores numbers in fewer bits.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "model/ir_rows.h"

namespace ridge::model {
namespace {

bool write_with_alpha(IrWriter& w, const char* op) {
  set(w.node(op, w.ins(0, 1)), "alpha", w.number("alpha", 1));
  return true;
}

bool write_negated(IrWriter& w, const char* op) {
  w.node("Not", {w.step(op, w.ins())});
  return true;
}

bool write_remainder(IrWriter& w, const char* op) {
  set(w.node(op, w.ins()), "fmod", w.layer().type == "Mod" ? int64_t{1} : int64_t{0});
  return true;
}

bool write_squared_difference(IrWriter& w, const char*) {
  const std::string difference = w.step("Sub", w.ins());
  w.node("Mul", {difference, difference});
  return true;
}

bool write_clamp(IrWriter& w, const char* op) {
  const std::string low = w.constant(static_cast<float>(w.number("min", 0)));
  const std::string high = w.constant(static_cast<float>(w.number("max", 0)));
  w.node(op, {w.in(0), low, high});
  return true;
}

// x · sigmoid(β·x)
bool write_swish(IrWriter& w, const char*) {
  const std::string x = w.in(0);
  const std::string scaled = w.layer().inputs.size() > 1 ? w.step("Mul", w.ins(0, 2)) : x;
  w.node("Mul", {x, w.step("Sigmoid", {scaled})});
  return true;
}

bool write_gelu(IrWriter& w, const char* op) {
  set(w.node(op, w.ins(0, 1)), "approximate", std::string(w.text("approximation_mode") == "TANH" ? "tanh" : "none"));
  return true;
}

bool write_convert(IrWriter& w, const char* op) {
  const int32_t type = ir_element_type(w.text("destination_type"));
  if (type == 0) return false;
  set(w.node(op, w.ins(0, 1)), "to", int64_t{type});
  return true;
}

bool is_byte_constant(const IrLayer* layer) {
  if (layer == nullptr || layer->type != "Const") return false;
  const auto type = layer->attributes.find("element_type");
  constexpr std::array<std::string_view, 4> kBytes = {"i8", "u8", "i4", "u4"};
  return type != layer->attributes.end() && std::find(kBytes.begin(), kBytes.end(), type->second) != kBytes.end();
}

// Of a Convert: what it converts.
const IrLayer* converted(const IrWriter& w, const IrLayer* layer) {
  return layer != nullptr && layer->type == "Convert" && !layer->inputs.empty() ? w.maker_of(layer->inputs[0])
                                                                                : nullptr;
}

// (Convert(bytes) − zero) · scale is how weights of 8 and 4 bits are stored.
bool write_multiply(IrWriter& w, const char* op) {
  const IrLayer* shifted = w.maker(0);
  const IrLayer* weights = shifted;
  std::string zero;
  if (shifted != nullptr && shifted->type == "Subtract" && shifted->inputs.size() == 2) {
    weights = w.maker_of(shifted->inputs[0]);
    const IrLayer* from = converted(w, w.maker_of(shifted->inputs[1]));
    if (is_byte_constant(from))
      zero = w.name_of(from->outputs.front());
    else
      weights = nullptr;  // zeros of another form
  }
  const IrLayer* bytes = converted(w, weights);
  // A product of a converted constant with anything but a constant is no dequantisation: its shape may be the other's.
  const IrLayer* scale = w.maker(1);
  const IrLayer* plain = converted(w, scale);
  const bool scaled = scale != nullptr && (scale->type == "Const" || (plain != nullptr && plain->type == "Const"));
  if (!is_byte_constant(bytes) || !scaled) return write_same(w, op);
  Operands inputs = {w.name_of(bytes->outputs.front()), w.in(1)};
  if (!zero.empty()) inputs.push_back(zero);
  w.node("DequantizeLinear", inputs);
  return true;
}

// Rounded to `levels` values between two bounds: quantised and dequantised.
bool write_fake_quantise(IrWriter& w, const char*) {
  if (w.integer("levels").value_or(256) > 256) return false;
  const std::string scale = w.constant(1.0f);
  onnx::NodeProto* quantise = nullptr;
  const std::string bytes = w.step("QuantizeLinear", {w.in(0), scale}, &quantise);
  set(*quantise, "output_dtype", int64_t{onnx::TensorProto::UINT8});
  w.node("DequantizeLinear", {bytes, scale});
  return true;
}

constexpr IrRow kPointwiseRows[] = {
    {"Abs", write_same, "Abs"},
    {"Acos", write_same, "Acos"},
    {"Acosh", write_same, "Acosh"},
    {"Add", write_same, "Add"},
    {"Asin", write_same, "Asin"},
    {"Asinh", write_same, "Asinh"},
    {"Atan", write_same, "Atan"},
    {"Atanh", write_same, "Atanh"},
    {"BitwiseAnd", write_same, "BitwiseAnd"},
    {"BitwiseNot", write_same, "BitwiseNot"},
    {"BitwiseOr", write_same, "BitwiseOr"},
    {"BitwiseXor", write_same, "BitwiseXor"},
    {"Ceiling", write_same, "Ceil"},
    {"Clamp", write_clamp, "Clip"},
    {"Convert", write_convert, "Cast"},
    {"ConvertLike", write_same, "CastLike"},
    {"Cos", write_same, "Cos"},
    {"Cosh", write_same, "Cosh"},
    {"Divide", write_same, "Div"},
    {"Elu", write_with_alpha, "Elu"},
    {"Equal", write_same, "Equal"},
    {"Erf", write_same, "Erf"},
    {"Exp", write_same, "Exp"},
    {"FakeQuantize", write_fake_quantise, "QuantizeLinear"},
    {"Floor", write_same, "Floor"},
    {"FloorMod", write_remainder, "Mod"},
    {"Gelu", write_gelu, "Gelu"},
    {"Greater", write_same, "Greater"},
    {"GreaterEqual", write_same, "GreaterOrEqual"},
    {"HSigmoid", write_same, "HardSigmoid"},
    {"HSwish", write_same, "HardSwish"},
    {"HardSigmoid", write_first_only, "HardSigmoid"},
    {"IsInf", write_same, "IsInf"},
    {"IsNaN", write_same, "IsNaN"},
    {"Less", write_same, "Less"},
    {"LessEqual", write_same, "LessOrEqual"},
    {"Log", write_same, "Log"},
    {"LogicalAnd", write_same, "And"},
    {"LogicalNot", write_same, "Not"},
    {"LogicalOr", write_same, "Or"},
    {"LogicalXor", write_same, "Xor"},
    {"Maximum", write_same, "Max"},
    {"Minimum", write_same, "Min"},
    {"Mish", write_same, "Mish"},
    {"Mod", write_remainder, "Mod"},
    {"Multiply", write_multiply, "Mul"},
    {"Negative", write_same, "Neg"},
    {"NotEqual", write_negated, "Equal"},
    {"PReLU", write_same, "PRelu"},
    {"Power", write_same, "Pow"},
    {"ReLU", write_same, "Relu"},
    {"Round", write_same, "Round"},
    {"Select", write_same, "Where"},
    {"Selu", write_first_only, "Selu"},
    {"Sigmoid", write_same, "Sigmoid"},
    {"Sign", write_same, "Sign"},
    {"Sin", write_same, "Sin"},
    {"Sinh", write_same, "Sinh"},
    {"SoftPlus", write_same, "Softplus"},
    {"SoftSign", write_same, "Softsign"},
    {"Sqrt", write_same, "Sqrt"},
    {"SquaredDifference", write_squared_difference, "Sub"},
    {"Subtract", write_same, "Sub"},
    {"Swish", write_swish, "Mul"},
    {"Tan", write_same, "Tan"},
    {"Tanh", write_same, "Tanh"},
};

}  // namespace

std::span<const IrRow> pointwise_rows() { return kPointwiseRows; }

}  // namespace ridge::model
