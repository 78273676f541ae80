// Pools: one comparison or addition per element under the window; taps on padding are not counted.
#include "cost/rules.h"
#include "cost/spatial.h"

namespace ridge::cost {
namespace {

// `per_tap` FLOPs for each element under a window. The division of an average counts as the addition it saves (k
// elements need k − 1 additions).
void pool(Context& context, double per_tap) {
  const Shape *x = context.input_shape(0), *y = context.output_shape(0);
  if (x == nullptr || y == nullptr) return;
  std::vector<Window> windows = windows_of(context, *x, *y, context.integers("kernel_shape"));
  if (windows.empty()) return context.mark_unknown();
  double planes = static_cast<double>((*y)[0]) * static_cast<double>((*y)[1]);
  context.add_flops(per_tap * planes * valid_taps(windows));
  double whole = 1;
  for (const Window& window : windows) whole *= static_cast<double>(window.input);
  if (whole > 0) context.work.read[0] *= touched_elements(windows) / whole;
}

// Quantised: each tap is shifted by the zero point, each output scaled, rounded and shifted.
void quantised_pool(Context& context, double per_tap) {
  pool(context, per_tap);
  per_output_element(context, 3);
}

void quantised_global_pool(Context& context, double) {
  per_input_element(context, 1);
  per_output_element(context, 3);
}

// |x|^p summed: two per element and a root.
void global_lp(Context& context, double) {
  per_input_element(context, 2);
  per_output_element(context, 1);
}

void lp(Context& context, double) {
  pool(context, 2);
  per_output_element(context, 1);
}

// The largest element of each region: each read once; the regions are data, so the input is the estimate.
void max_roi_pool(Context& context, double) { per_output_element(context, 1); }

constexpr Rule kPoolingRules[] = {
    {kOnnx, "MaxPool", pool, 1, {kKeepsMaxima, kMovesInts}},
    {kOnnx, "AveragePool", pool, 1, {kKeepsInput, kComputesInts}},
    {kOnnx, "LpPool", lp, 0, {kKeepsInput}},
    {kOnnx, "GlobalMaxPool", per_input_element, 1, {kKeepsMaxima}},
    {kOnnx, "GlobalAveragePool", per_input_element, 1, {kKeepsNothing, kComputesInts}},
    {kOnnx, "GlobalLpPool", global_lp, 0, {}},
    {kOnnx, "MaxRoiPool", max_roi_pool, 0, {}},
    {kOnnx, "MaxUnpool", moves},
    {kMicrosoft, "QLinearAveragePool", quantised_pool, 1, {}},
    {kMicrosoft, "QLinearGlobalAveragePool", quantised_global_pool, 0, {}},
    {kMicrosoft, "NhwcMaxPool", per_output_element, 1, {}},
    {kBlocked, "MaxPool", pool, 1, {kKeepsMaxima}},
    {kBlocked, "AveragePool", pool, 1, {kKeepsInput}},
    {kBlocked, "GlobalMaxPool", per_input_element, 1, {kKeepsMaxima}},
    {kBlocked, "GlobalAveragePool", per_input_element, 1, {kKeepsNothing}},
};

}  // namespace

std::span<const Rule> pooling_rules() { return kPoolingRules; }

}  // namespace ridge::cost
