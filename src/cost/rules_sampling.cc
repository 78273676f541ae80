// Interpolation and regions. Interpolating between t neighbours in d dimensions multiplies t^d values and adds them:
// 2·t^d − 1 FLOPs per output element (t = 1 nearest: 0, 2 linear, 4 cubic).
#include <algorithm>
#include <cmath>

#include "cost/rules.h"

namespace ridge::cost {
namespace {

double neighbours(std::string_view mode) {
  if (mode.find("cubic") != std::string_view::npos) return 4;
  if (mode.find("linear") != std::string_view::npos) return 2;
  return 1;
}

double interpolation_flops(double samples) { return samples <= 1 ? 0 : 2 * samples - 1; }

// Only the dimensions whose length changes are interpolated.
void resize(Context& context, double) {
  const Shape *x = context.input_shape(0), *y = context.output_shape(0);
  if (x == nullptr || y == nullptr) return;
  if (x->size() != y->size()) return context.mark_unknown();
  double samples = 1;
  for (size_t i = 0; i < x->size(); ++i)
    if ((*x)[i] != (*y)[i]) samples *= neighbours(context.text("mode"));
  per_output_element(context, interpolation_flops(samples));
  context.work.read[0] = std::min(context.work.read[0], samples * context.output_bytes(0));
}

// Each coordinate is brought from [−1, 1] to elements: ((g + 1)·n − 1) / 2, 4 FLOPs.
void grid_sample(Context& context, double) {
  const Shape* x = context.input_shape(0);
  if (x == nullptr || x->size() < 3) return;
  std::string mode = context.text("mode");
  double samples = std::pow(neighbours(mode.empty() ? "linear" : mode), static_cast<double>(x->size() - 2));
  per_output_element(context, interpolation_flops(samples));
  context.add_flops(4 * context.input_elements(1));
  context.work.sparse = true;
}

// Each output coordinate is a row of [d, d+1] times a position.
void affine_grid(Context& context, double) {
  const Shape* y = context.output_shape(0);
  if (y == nullptr || y->empty()) return;
  per_output_element(context, 2 * static_cast<double>(y->back()));
}

// Each bin averages sampling_ratio² bilinear samples (7, and 1 to add). A ratio of 0 depends on the region; it is
// counted as 2.
void roi_align(Context& context, double) {
  double ratio = static_cast<double>(context.integer("sampling_ratio", 0));
  if (ratio == 0) ratio = 2;
  per_output_element(context, 8 * ratio * ratio);
  context.work.sparse = true;
}

// Each score meets the threshold; each kept box meets every box: intersection over union 13, comparison 1. The number
// kept depends on the data.
void non_max_suppression(Context& context, double) {
  const Shape *boxes = context.input_shape(0), *scores = context.input_shape(1);
  if (boxes == nullptr || scores == nullptr || boxes->size() != 3 || scores->size() != 3) return;
  double count = static_cast<double>((*boxes)[1]), classes = Context::elements(scores) / std::max(count, 1.0);
  double kept = 0;
  if (context.has_input(2) && context.inputs[2].values && !context.inputs[2].values->empty())
    kept = std::clamp(static_cast<double>(context.inputs[2].values->front()), 0.0, count);
  context.add_flops(classes * count);
  context.work.cost.data_flops = classes * kept * count * 14;
}

constexpr Rule kSamplingRules[] = {
    {kOnnx, "Resize", resize, 0, {kKeepsNothing, kMovesInts}},
    {kOnnx, "Upsample", resize, 0, {kKeepsNothing}},
    {kOnnx, "GridSample", grid_sample, 0, {kKeepsAllInputs}},
    {kOnnx, "AffineGrid", affine_grid},
    {kOnnx, "RoiAlign", roi_align, 0, {kKeepsIndices}},
    {kOnnx, "NonMaxSuppression", non_max_suppression, 0, {kNoGradient, kDataSized}},
    {kOnnx, "Col2Im", per_input_element, 1, {kKeepsNothing}},
    {kMicrosoft, "GridSample", grid_sample, 0, {kKeepsAllInputs}},
    {kBlocked, "Upsample", resize, 0, {kKeepsNothing}},
};

}  // namespace

std::span<const Rule> sampling_rules() { return kSamplingRules; }

}  // namespace ridge::cost
