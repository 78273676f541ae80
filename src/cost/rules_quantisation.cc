// Quantisation, and arithmetic on quantised tensors. Quantise: ÷ scale, round, + zero point: 3; saturation is part of
// the conversion. Dequantise: − zero point, × scale: 2. A quantised operator dequantises its operands, computes and
// quantises the result.
#include "cost/rules.h"

namespace ridge::cost {
namespace {

void quantised(Context& context, double per_element) {
  context.work.cost.precision = Precision::kInt8;
  per_output_element(context, per_element);
}

void quantised_reduce(Context& context, double per_input) {
  context.work.cost.precision = Precision::kInt8;
  per_input_element(context, per_input);
  per_output_element(context, 4);
}

constexpr Rule kQuantisationRules[] = {
    {kOnnx, "QuantizeLinear", per_output_element, 3, {kKeepsNothing, kFuses}},
    {kOnnx, "DequantizeLinear", per_output_element, 2, {kConverted, kKeepsNothing, kFuses, kDequantises}},
    {kOnnx, "DynamicQuantizeLinear", per_input_element, 5},  // minimum, maximum, then quantise
    {kMicrosoft, "QuantizeLinear", per_output_element, 3, {kKeepsNothing, kFuses}},
    {kMicrosoft, "DequantizeLinear", per_output_element, 2, {kConverted, kKeepsNothing, kFuses, kDequantises}},
    {kMicrosoft, "QLinearAdd", quantised, 8},
    {kMicrosoft, "QLinearMul", quantised, 8},
    {kMicrosoft, "QLinearSigmoid", quantised, 9},
    {kMicrosoft, "QLinearLeakyRelu", quantised, 7},
    {kMicrosoft, "QLinearSoftmax", quantised, 10},
    {kMicrosoft, "QLinearConcat", quantised, 5},
    {kMicrosoft, "QLinearWhere", quantised, 6},
    {kMicrosoft, "QLinearReduceMean", quantised_reduce, 3},
};

}  // namespace

std::span<const Rule> quantisation_rules() { return kQuantisationRules; }

}  // namespace ridge::cost
