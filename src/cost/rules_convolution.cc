// Convolutions. An output element needs (input channels / groups) × kernel volume multiply-adds; the published counts
// include the taps that fall on padding, the needed FLOPs leave them out. Only input that a window touches is read.
#include "cost/rules.h"
#include "cost/spatial.h"

namespace ridge::cost {
namespace {

// The inputs' roles, and the operations on each output element besides the multiply-adds.
struct Layout {
  size_t x = 0;
  size_t w = 1;
  size_t bias = 2;
  double extra = 0;  // FLOPs per output element
};

Shape spatial(const Shape& shape) { return shape.size() < 2 ? Shape{} : Shape(shape.begin() + 2, shape.end()); }

double product(const Shape& shape) { return Context::elements(&shape); }

void convolve(Context& context, const Layout& layout) {
  const Shape *x = context.input_shape(layout.x), *w = context.input_shape(layout.w), *y = context.output_shape(0);
  if (x == nullptr || w == nullptr || y == nullptr) return;
  if (x->size() < 3 || w->size() != x->size() || y->size() != x->size()) return context.mark_unknown();
  double macs = product(*y) * static_cast<double>((*w)[1]) * product(spatial(*w));
  std::vector<Window> windows = windows_of(context, *x, *y, spatial(*w));
  double taps = static_cast<double>((*y)[0]) * static_cast<double>((*y)[1]) * static_cast<double>((*w)[1]);
  context.multiply_adds(macs, taps * valid_taps(windows));
  if (double whole = product(spatial(*x)); whole > 0) context.work.read[layout.x] *= touched_elements(windows) / whole;
  if (context.has_input(layout.bias)) per_output_element(context, 1);
  per_output_element(context, layout.extra);
}

void conv(Context& context, double) { convolve(context, {.extra = activation_flops(context.text("activation"))}); }

// Conv, plus another tensor (input 3) added before the activation.
void conv_and_sum(Context& context, double) {
  convolve(context, {.extra = activation_flops(context.text("activation")) + (context.has_input(3) ? 1 : 0)});
}

void conv_integer(Context& context, double) {
  context.work.cost.precision = Precision::kInt8;
  convolve(context, {.bias = SIZE_MAX});
}

// x, its scale and zero point, w, its scale and zero point, y's, bias; the sum is scaled, rounded and shifted.
void qlinear_conv(Context& context, double) {
  context.work.cost.precision = Precision::kInt8;
  convolve(context, {.x = 0, .w = 3, .bias = 8, .extra = 3});
}

// Every input element meets every tap; taps outside the output are not needed.
void conv_transpose(Context& context, double) {
  const Shape *x = context.input_shape(0), *w = context.input_shape(1), *y = context.output_shape(0);
  if (x == nullptr || w == nullptr || y == nullptr) return;
  if (x->size() < 3 || w->size() != x->size() || y->size() != x->size()) return context.mark_unknown();
  double macs = product(*x) * static_cast<double>((*w)[1]) * product(spatial(*w));
  // Seen from the output, input and output are swapped. Padding not given explicitly (auto_pad, output_shape) is the
  // difference between the full extent and the output's.
  std::vector<Window> windows = windows_of(context, *y, *x, spatial(*w));
  bool given = context.integers("pads").size() == 2 * windows.size() && context.integers("output_shape").empty();
  for (Window& window : windows)
    if (!given) window.pad_begin = same_padding(window, false);
  double channels = static_cast<double>((*x)[0]) * static_cast<double>((*x)[1]) * static_cast<double>((*w)[1]);
  context.multiply_adds(macs, channels * valid_taps(windows));
  if (context.has_input(2)) per_output_element(context, 1);
}

// The input is sampled bilinearly at shifted positions (7 per sample), then convolved; a mask scales each sample.
void deform_conv(Context& context, double) {
  const Shape *w = context.input_shape(1), *y = context.output_shape(0);
  if (w == nullptr || y == nullptr || w->size() < 3 || y->size() != w->size()) return;
  double group = static_cast<double>(context.integer("group", 1));
  double taps = product(spatial(*w));
  context.multiply_adds(product(*y) * static_cast<double>((*w)[1]) * taps, 0);
  double samples = product(spatial(*y)) * static_cast<double>((*y)[0]) * static_cast<double>((*w)[1]) * group * taps;
  context.add_flops(samples * (context.has_input(4) ? 8 : 7));
  if (context.has_input(3)) per_output_element(context, 1);
}

// Depthwise over time with the last k − 1 positions carried over: no padding.
void causal_conv(Context& context, double) {
  const Shape* w = context.input_shape(1);
  if (w == nullptr || w->empty()) return;
  context.multiply_adds(context.output_elements(0) * static_cast<double>(w->back()), 0);
  if (context.has_input(2)) per_output_element(context, 1);
  if (!context.text("activation").empty() && context.text("activation") != "none") per_output_element(context, 5);
}

constexpr Rule kConvolutionRules[] = {
    {kOnnx, "Conv", conv, 0, {kKeepsInputForWeight, kConvolution}},
    {kOnnx, "ConvInteger", conv_integer},
    {kOnnx, "QLinearConv", qlinear_conv, 0, {kQuantisedProduct}},
    {kOnnx, "ConvTranspose", conv_transpose, 0, {kKeepsInputForWeight, kTransposedConvolution}},
    {kOnnx, "DeformConv", deform_conv, 0, {kKeepsInputForWeight}},
    {kOnnx, "CausalConvWithState", causal_conv},
    {kMicrosoft, "FusedConv", conv_and_sum, 0, {kOverwritesSum, kConvolution}},
    {kMicrosoft, "ConvTransposeWithDynamicPads", conv_transpose, 0, {kTransposedConvolution}},
    {kBlocked, "Conv", conv_and_sum, 0, {kOverwritesSum, kKeepsInputForWeight, kConvolution}},
};

}  // namespace

std::span<const Rule> convolution_rules() { return kConvolutionRules; }

}  // namespace ridge::cost
