// Reductions, searches, sorts and transforms: FLOPs per element of the input, plus per element of the output.
#include <algorithm>
#include <cmath>

#include "cost/rules.h"

namespace ridge::cost {
namespace {

// `per_input` of each input element, then one operation (÷, √, log) per output element.
void reduce_and_finish(Context& context, double per_input) {
  per_input_element(context, per_input);
  per_output_element(context, 1);
}

// maximum, difference, exp, sum; then log and + maximum.
void log_sum_exp(Context& context, double) {
  per_input_element(context, 4);
  per_output_element(context, 2);
}

// A heap of the k best: log2(k) comparisons per element, at least one.
void top_k(Context& context, double) {
  const Shape *x = context.input_shape(0), *y = context.output_shape(0);
  if (x == nullptr || y == nullptr) return;
  int64_t axis = context.integer("axis", -1), rank = static_cast<int64_t>(y->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return context.mark_unknown();
  double k = static_cast<double>((*y)[static_cast<size_t>(axis)]);
  per_input_element(context, std::max(1.0, std::log2(std::max(k, 1.0))));
}

// Sorting: n·log2(n) comparisons.
void sort(Context& context, double) {
  double n = context.input_elements(0);
  context.add_flops(n * std::log2(std::max(n, 2.0)));
}

// A fast Fourier transform of n points: 5·n·log2(n).
double transform_flops(double points) { return points > 1 ? 5 * points * std::log2(points) : 0; }

// [.., n, .., 1 or 2], transformed along one axis; `axis` is an attribute up to opset 19, then input 2.
void dft(Context& context, double) {
  const Shape* x = context.input_shape(0);
  if (x == nullptr || x->size() < 2) return;
  int64_t axis = context.integer("axis", 1), rank = static_cast<int64_t>(x->size());
  if (context.has_input(2) && context.inputs[2].values && !context.inputs[2].values->empty())
    axis = context.inputs[2].values->front();
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return context.mark_unknown();
  double points = static_cast<double>((*x)[static_cast<size_t>(axis)]);
  double transforms = points > 0 ? Context::elements(x) / static_cast<double>(x->back()) / points : 0;
  context.add_flops(transforms * transform_flops(points));
}

// Signal, step, window, frame length → [batch, frames, bins, 2]; each frame is windowed and transformed.
void stft(Context& context, double) {
  const Shape* y = context.output_shape(0);
  if (y == nullptr || y->size() != 4) return;
  double points = context.input_elements(2);
  if (context.has_input(3) && context.inputs[3].values && !context.inputs[3].values->empty())
    points = static_cast<double>(context.inputs[3].values->front());
  double frames = static_cast<double>((*y)[0]) * static_cast<double>((*y)[1]);
  context.add_flops(frames * (transform_flops(points) + points));
}

constexpr Rule kReductionRules[] = {
    {kOnnx, "ReduceSum", per_input_element, 1, {kKeepsNothing}},
    {kOnnx, "ReduceMean", reduce_and_finish, 1, {kKeepsNothing}},
    {kOnnx, "ReduceMax", per_input_element, 1, {kKeepsInputAndOutput}},
    {kOnnx, "ReduceMin", per_input_element, 1, {kKeepsInputAndOutput}},
    {kOnnx, "ReduceProd", per_input_element, 1, {kKeepsInputAndOutput}},
    {kOnnx, "ReduceL1", per_input_element, 2, {kKeepsInput}},
    {kOnnx, "ReduceL2", reduce_and_finish, 2, {kKeepsInputAndOutput}},
    {kOnnx, "ReduceSumSquare", per_input_element, 2, {kKeepsInput}},
    {kOnnx, "ReduceLogSum", reduce_and_finish, 1, {kKeepsInputAndOutput}},
    {kOnnx, "ReduceLogSumExp", log_sum_exp, 0, {kKeepsInputAndOutput}},
    {kOnnx, "ArgMax", per_input_element, 1, {kNoGradient}},
    {kOnnx, "ArgMin", per_input_element, 1, {kNoGradient}},
    {kOnnx, "CumSum", per_input_element, 1, {kKeepsNothing}},
    {kOnnx, "CumProd", per_input_element, 1},
    {kOnnx, "TopK", top_k, 0, {kKeepsSecondOutput}},
    {kOnnx, "Unique", sort, 0, {kNoGradient, kDataSized}},
    {kOnnx, "NonZero", per_input_element, 1, {kNoGradient, kDataSized}},
    {kOnnx, "DFT", dft},
    {kOnnx, "STFT", stft},
    {kMicrosoft, "ReduceSumInteger", per_input_element, 1},
};

}  // namespace

std::span<const Rule> reduction_rules() { return kReductionRules; }

}  // namespace ridge::cost
