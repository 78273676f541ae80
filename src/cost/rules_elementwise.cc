// Operators that compute each output element from the elements at the same place. FLOPs per element follow the formula
// in the row's comment: each +, −, ×, ÷, comparison, selection and elementary function (exp, log, √, erf, tanh, sin …)
// counts 1. Integer and logical operators count as if they were floating-point.
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

// Bounds that are left out cost nothing.
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
    {kOnnx, "Add", per_output_element, 1},
    {kOnnx, "Sub", per_output_element, 1},
    {kOnnx, "Mul", per_output_element, 1},
    {kOnnx, "Div", per_output_element, 1},
    {kOnnx, "Mod", per_output_element, 1},
    {kOnnx, "Pow", per_output_element, 1},
    {kOnnx, "Neg", per_output_element, 1},
    {kOnnx, "Abs", per_output_element, 1},
    {kOnnx, "Sign", per_output_element, 1},
    {kOnnx, "Reciprocal", per_output_element, 1},
    {kOnnx, "Sum", variadic, 0},
    {kOnnx, "Max", variadic, 0},
    {kOnnx, "Min", variadic, 0},
    {kOnnx, "Mean", variadic, 1},
    // Rounding, comparison, logic, bits
    {kOnnx, "Floor", per_output_element, 1},
    {kOnnx, "Ceil", per_output_element, 1},
    {kOnnx, "Round", per_output_element, 1},
    {kOnnx, "Equal", per_output_element, 1},
    {kOnnx, "Greater", per_output_element, 1},
    {kOnnx, "GreaterOrEqual", per_output_element, 1},
    {kOnnx, "Less", per_output_element, 1},
    {kOnnx, "LessOrEqual", per_output_element, 1},
    {kOnnx, "IsInf", per_output_element, 1},
    {kOnnx, "IsNaN", per_output_element, 1},
    {kOnnx, "And", per_output_element, 1},
    {kOnnx, "Or", per_output_element, 1},
    {kOnnx, "Xor", per_output_element, 1},
    {kOnnx, "Not", per_output_element, 1},
    {kOnnx, "BitShift", per_output_element, 1},
    {kOnnx, "BitwiseAnd", per_output_element, 1},
    {kOnnx, "BitwiseOr", per_output_element, 1},
    {kOnnx, "BitwiseXor", per_output_element, 1},
    {kOnnx, "BitwiseNot", per_output_element, 1},
    {kOnnx, "Where", per_output_element, 1},
    {kOnnx, "Clip", clip, 0, kOverwrites},
    // Elementary functions
    {kOnnx, "Exp", per_output_element, 1},
    {kOnnx, "Log", per_output_element, 1},
    {kOnnx, "Sqrt", per_output_element, 1},
    {kOnnx, "Erf", per_output_element, 1},
    {kOnnx, "Sin", per_output_element, 1},
    {kOnnx, "Cos", per_output_element, 1},
    {kOnnx, "Tan", per_output_element, 1},
    {kOnnx, "Asin", per_output_element, 1},
    {kOnnx, "Acos", per_output_element, 1},
    {kOnnx, "Atan", per_output_element, 1},
    {kOnnx, "Sinh", per_output_element, 1},
    {kOnnx, "Cosh", per_output_element, 1},
    {kOnnx, "Tanh", per_output_element, 1, kOverwrites},
    {kOnnx, "Asinh", per_output_element, 1},
    {kOnnx, "Acosh", per_output_element, 1},
    {kOnnx, "Atanh", per_output_element, 1},
    // Activations
    {kOnnx, "Relu", per_output_element, 1, kOverwrites},             // max(x, 0)
    {kOnnx, "LeakyRelu", per_output_element, 2, kOverwrites},        // x < 0 ? α·x : x
    {kOnnx, "PRelu", per_output_element, 2},                         // likewise
    {kOnnx, "ThresholdedRelu", per_output_element, 1, kOverwrites},  // x > α ? x : 0
    {kOnnx, "Elu", per_output_element, 4, kOverwrites},              // x < 0 ? α·(exp(x) − 1) : x
    {kOnnx, "Celu", per_output_element, 7, kOverwrites},             // max(x, 0) + min(0, α·(exp(x/α) − 1))
    {kOnnx, "Selu", per_output_element, 5, kOverwrites},             // γ·elu(x)
    {kOnnx, "Sigmoid", per_output_element, kSigmoid, kOverwrites},
    {kOnnx, "HardSigmoid", per_output_element, 4, kOverwrites},  // max(0, min(1, α·x + β))
    {kOnnx, "HardSwish", per_output_element, 5},                 // x · hardsigmoid(x)
    {kOnnx, "Swish", per_output_element, 6},                     // x · sigmoid(α·x)
    {kOnnx, "SwiGLU", per_output_element, 7},                    // swish(a) · b
    {kOnnx, "Mish", per_output_element, 5},                      // x · tanh(log(1 + exp(x)))
    {kOnnx, "Softplus", per_output_element, 3, kOverwrites},     // log(1 + exp(x))
    {kOnnx, "Softsign", per_output_element, 3, kOverwrites},     // x / (1 + |x|)
    {kOnnx, "Shrink", per_output_element, 3, kOverwrites},       // two comparisons, one shift
    {kOnnx, "Gelu", gelu, kGelu},
    {kMicrosoft, "Gelu", gelu, kGelu},
    {kMicrosoft, "BiasGelu", biased, kGelu},
    {kMicrosoft, "FastGelu", biased, kGeluTanh},
    {kMicrosoft, "QuickGelu", per_output_element, 6},  // x · sigmoid(α·x)
    {kMicrosoft, "BiasSplitGelu", bias_split, kGelu + 1},
    {kMicrosoft, "BiasAdd", per_output_element, 2},  // x + bias + skip
    {kMicrosoft, "BiasDropout", biased, 1},
    // Conversion
    {kOnnx, "Cast", cast, 1, kOverwrites},
    {kOnnx, "CastLike", cast, 1},
    // Training operators that exports leave behind, and small classical ones
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
