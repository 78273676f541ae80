// Operators that compute each output element from the elements at the same position. FLOPs per element follow the
// formula in the row's comment: each +, −, ×, ÷, comparison, selection and elementary function (exp, log, √, erf, tanh,
// sin …) counts 1. Integer and logical operators count like floating-point ones.
#include <algorithm>
#include <array>

#include "cost/rules.h"

namespace ridge::cost {
namespace {

// Folds n operands into one: n − 1 operations per element of the output.
void variadic(Context& context, double extra) {
  double operands = 0;
  for (const Operand& input : context.inputs) operands += input.present ? 1 : 0;
  per_output_element(context, std::max(operands - 1, 0.0) + extra);
}

// Omitted bounds cost nothing.
void clip(Context& context, double) {
  double bounds = (context.has_input(1) ? 1 : 0) + (context.has_input(2) ? 1 : 0);
  if (context.inputs.size() <= 1) bounds = 2;  // opset ≤ 6: attributes
  per_output_element(context, bounds);
}

// The same type on both sides is a view; otherwise one conversion per element.
void cast(Context& context, double flops) {
  if (context.has_input(0) && context.has_output(0) && context.inputs[0].type == context.outputs[0].type &&
      context.inputs[0].type != DataType::kInvalid)
    return context.make_view();
  per_output_element(context, flops);
}

// x + bias, then an activation of `activation` FLOPs.
void biased(Context& context, double activation) {
  per_output_element(context, activation + (context.has_input(1) ? 1 : 0));
}

// 0.5·x · (1 + erf(x / √2)), or by its approximation:
// 0.5·x · (1 + tanh(x · (√(2/π) + 0.0357·x²))).
constexpr double kGelu = 5;
constexpr double kGeluTanh = 8;

void gelu(Context& context, double) {
  per_output_element(context, context.text("approximate") == "tanh" ? kGeluTanh : kGelu);
}

// Two halves of the last dimension: one is activated and multiplies the other.
void bias_split(Context& context, double flops) {
  per_output_element(context, flops);
  context.add_flops(context.input_elements(0));  // the bias
}

constexpr double kSigmoid = 4;  // 1 / (1 + exp(−x))

constexpr Rule kElementwiseRules[] = {
    // Arithmetic
    {kOnnx, "Add", per_output_element, 1, {kKeepsNothing, kCombinesInts, kFuses}},
    {kOnnx, "Sub", per_output_element, 1, {kKeepsNothing, kFuses}},
    {kOnnx, "Mul", per_output_element, 1, {kKeepsFactors, kCombinesInts, kFuses}},
    {kOnnx, "Div", per_output_element, 1, {kKeepsQuotient, kFuses}},
    {kOnnx, "Mod", per_output_element, 1},
    {kOnnx, "Pow", per_output_element, 1, {kKeepsPower, kFuses}},
    {kOnnx, "Neg", per_output_element, 1, {kKeepsNothing, kFuses}},
    {kOnnx, "Abs", per_output_element, 1, {kKeepsInput, kFuses}},
    {kOnnx, "Sign", per_output_element, 1, {kNoGradient}},
    {kOnnx, "Reciprocal", per_output_element, 1, {kKeepsOutput, kFuses}},
    {kOnnx, "Sum", variadic, 0, {kKeepsNothing}},
    {kOnnx, "Max", variadic, 0, {kKeepsAllInputs}},
    {kOnnx, "Min", variadic, 0, {kKeepsAllInputs}},
    {kOnnx, "Mean", variadic, 1, {kKeepsNothing}},
    // Rounding, comparison, logic, bits
    {kOnnx, "Floor", per_output_element, 1, {kNoGradient}},
    {kOnnx, "Ceil", per_output_element, 1, {kNoGradient}},
    {kOnnx, "Round", per_output_element, 1, {kNoGradient}},
    {kOnnx, "Equal", per_output_element, 1, {kNoGradient}},
    {kOnnx, "Greater", per_output_element, 1, {kNoGradient, kFuses}},
    {kOnnx, "GreaterOrEqual", per_output_element, 1, {kNoGradient}},
    {kOnnx, "Less", per_output_element, 1, {kNoGradient, kFuses}},
    {kOnnx, "LessOrEqual", per_output_element, 1, {kNoGradient}},
    {kOnnx, "IsInf", per_output_element, 1, {kNoGradient}},
    {kOnnx, "IsNaN", per_output_element, 1, {kNoGradient}},
    {kOnnx, "And", per_output_element, 1, {kNoGradient}},
    {kOnnx, "Or", per_output_element, 1, {kNoGradient}},
    {kOnnx, "Xor", per_output_element, 1, {kNoGradient}},
    {kOnnx, "Not", per_output_element, 1, {kNoGradient}},
    {kOnnx, "BitShift", per_output_element, 1, {kNoGradient}},
    {kOnnx, "BitwiseAnd", per_output_element, 1},
    {kOnnx, "BitwiseOr", per_output_element, 1},
    {kOnnx, "BitwiseXor", per_output_element, 1},
    {kOnnx, "BitwiseNot", per_output_element, 1},
    {kOnnx, "Where", per_output_element, 1, {kKeepsInput, kFuses}},
    {kOnnx, "Clip", clip, 0, {kOverwrites, kKeepsInput, kComputesInts, kFuses, kClips}},
    // Elementary functions
    {kOnnx, "Exp", per_output_element, 1, {kKeepsOutput, kFuses}},
    {kOnnx, "Log", per_output_element, 1, {kKeepsInput, kFuses}},
    {kOnnx, "Sqrt", per_output_element, 1, {kKeepsOutput, kFuses}},
    {kOnnx, "Erf", per_output_element, 1, {kKeepsInput, kFuses}},
    {kOnnx, "Sin", per_output_element, 1, {kKeepsInput}},
    {kOnnx, "Cos", per_output_element, 1, {kKeepsInput}},
    {kOnnx, "Tan", per_output_element, 1, {kKeepsOutput}},
    {kOnnx, "Asin", per_output_element, 1, {kKeepsInput}},
    {kOnnx, "Acos", per_output_element, 1, {kKeepsInput}},
    {kOnnx, "Atan", per_output_element, 1, {kKeepsInput}},
    {kOnnx, "Sinh", per_output_element, 1, {kKeepsInput}},
    {kOnnx, "Cosh", per_output_element, 1, {kKeepsInput}},
    {kOnnx, "Tanh", per_output_element, 1, {kOverwrites, kKeepsOutput, kVectors, kFuses}},
    {kOnnx, "Asinh", per_output_element, 1},
    {kOnnx, "Acosh", per_output_element, 1},
    {kOnnx, "Atanh", per_output_element, 1},
    // Activations
    {kOnnx, "Relu", per_output_element, 1, {kOverwrites, kKeepsOutput, kComputesInts, kFuses, kClips}},  // max(x, 0)
    {kOnnx, "LeakyRelu", per_output_element, 2, {kOverwrites, kKeepsInput, kComputesInts, kFuses}},  // x < 0 ? α·x : x
    {kOnnx, "PRelu", per_output_element, 2, {kKeepsInput, kFuses}},                                  // likewise
    {kOnnx, "ThresholdedRelu", per_output_element, 1, {kOverwrites, kKeepsInput}},                   // x > α ? x : 0
    {kOnnx, "Elu", per_output_element, 4, {kOverwrites, kKeepsInput, kFuses}},  // x < 0 ? α·(exp(x) − 1) : x
    {kOnnx, "Celu", per_output_element, 7, {kOverwrites, kKeepsInput}},  // max(x, 0) + min(0, α·(exp(x/α) − 1))
    {kOnnx, "Selu", per_output_element, 5, {kOverwrites, kKeepsInput}},  // γ·elu(x)
    {kOnnx, "Sigmoid", per_output_element, kSigmoid, {kOverwrites, kKeepsOutput, kComputesInts, kFuses}},
    {kOnnx, "HardSigmoid", per_output_element, 4, {kOverwrites, kKeepsInput, kFuses}},  // max(0, min(1, α·x + β))
    {kOnnx, "HardSwish", per_output_element, 5, {kKeepsInput, kFuses}},                 // x · hardsigmoid(x)
    {kOnnx, "Swish", per_output_element, 6, {kKeepsInput}},                             // x · sigmoid(α·x)
    {kOnnx, "SwiGLU", per_output_element, 7},                                           // swish(a) · b
    {kOnnx, "Mish", per_output_element, 5, {kKeepsInput}},                              // x · tanh(log(1 + exp(x)))
    {kOnnx, "Softplus", per_output_element, 3, {kOverwrites, kKeepsInput, kFuses}},     // log(1 + exp(x))
    {kOnnx, "Softsign", per_output_element, 3, {kOverwrites, kKeepsInput}},             // x / (1 + |x|)
    {kOnnx, "Shrink", per_output_element, 3, {kOverwrites, kKeepsInput}},               // two comparisons, one shift
    {kOnnx, "Gelu", gelu, kGelu, {kKeepsInput, kFuses}},
    {kMicrosoft, "Gelu", gelu, kGelu, {kKeepsInput, kFuses}},
    {kMicrosoft, "BiasGelu", biased, kGelu, {kKeepsInput, kFuses}},
    {kMicrosoft, "FastGelu", biased, kGeluTanh, {kKeepsInput, kFuses}},
    {kMicrosoft, "QuickGelu", per_output_element, 6, {kKeepsInput}},  // x · sigmoid(α·x)
    {kMicrosoft, "BiasSplitGelu", bias_split, kGelu + 1},
    {kMicrosoft, "BiasAdd", per_output_element, 2},  // x + bias + skip
    {kMicrosoft, "BiasDropout", biased, 1},
    // Conversion
    {kOnnx, "Cast", cast, 1, {kConverted, kOverwrites, kKeepsNothing, kFuses}},
    {kOnnx, "CastLike", cast, 1, {kKeepsNothing}},
    // Training operators left in exports, and small classical ones
    {kOnnxMl, "Scaler", per_output_element, 2},
    {kOnnxMl, "Binarizer", per_output_element, 1},
    {kOnnxMl, "Imputer", per_output_element, 1},
    {kOnnxMl, "Normalizer", per_output_element, 3},
};

}  // namespace

std::span<const Rule> elementwise_rules() { return kElementwiseRules; }

double activation_flops(std::string_view name) {
  if (name.empty()) return 0;
  if (name == "Clip") return 2;
  for (const Rule& rule : kElementwiseRules)
    if (rule.op == name) return rule.factor;
  return 1;
}

}  // namespace ridge::cost
