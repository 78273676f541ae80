// Operators that rearrange, select or create data: no FLOPs, only bytes. Views (another shape over the same memory)
// move nothing: engines do not copy for them.
#include <algorithm>

#include "cost/rules.h"

namespace ridge::cost {
namespace {

void view(Context& context, double) { context.make_view(); }

// Reads only the shape of the input.
void shape_only(Context& context, double) {
  if (!context.work.read.empty()) context.work.read[0] = 0;
}

bool same_shape(Context& context) {
  const Shape *x = context.input_shape(0), *y = context.output_shape(0);
  return x != nullptr && y != nullptr && *x == *y;
}

// Expand, Tile, Pad … to the existing shape.
void moves_unless_same(Context& context, double) {
  if (same_shape(context)) context.make_view();
}

// Reads what it writes, not the whole input.
void selects(Context& context, double) {
  if (same_shape(context)) return context.make_view();
  double written = 0;
  for (double bytes : context.work.written) written += bytes;
  if (!context.work.read.empty()) context.work.read[0] = std::min(context.work.read[0], written);
}

// Moves elements from data-dependent positions.
void gathers(Context& context, double) {
  if (!context.work.read.empty()) context.work.read[0] = std::min(context.work.read[0], context.output_bytes(0));
  context.work.sparse = true;
}

void gathers_quantised(Context& context, double per_element) {
  gathers(context, 0);
  per_output_element(context, per_element);
}

void concatenates(Context& context, double) {
  auto present =
      std::count_if(context.inputs.begin(), context.inputs.end(), [](const Operand& o) { return o.present; });
  if (present == 1) context.make_view();
}

// A permutation that only moves dimensions of length 1 leaves the memory unchanged.
void transpose(Context& context, double) {
  const Shape* x = context.input_shape(0);
  if (x == nullptr) return;
  std::vector<int64_t> order = context.integers("perm");
  for (size_t i = x->size(); order.size() < x->size() && i > 0; --i) order.push_back(static_cast<int64_t>(i) - 1);
  int64_t last = -1;
  bool in_place = true;
  for (int64_t axis : order) {
    if (axis < 0 || axis >= static_cast<int64_t>(x->size())) return context.mark_unknown();
    if ((*x)[static_cast<size_t>(axis)] == 1) continue;
    in_place = in_place && axis > last;
    last = axis;
  }
  if (in_place) context.make_view();
}

// A copy of the data with some elements overwritten; with a reduction one operation per update.
void scatters(Context& context, double) {
  std::string reduction = context.text("reduction");
  if (!reduction.empty() && reduction != "none") context.add_flops(context.input_elements(2));
}

// Its value is part of the model.
void constant(Context& context, double) { std::fill(context.work.written.begin(), context.work.written.end(), 0.0); }

constexpr Rule kMovementRules[] = {
    // Views
    {kOnnx, "Reshape", view, 0, {kSameValues, kKeepsNothing, kMovesInts}},
    {kOnnx, "Flatten", view, 0, {kSameValues, kKeepsNothing, kMovesInts}},
    {kOnnx, "Squeeze", view, 0, {kSameValues, kKeepsNothing, kMovesInts}},
    {kOnnx, "Unsqueeze", view, 0, {kSameValues, kKeepsNothing, kMovesInts}},
    {kOnnx, "Identity", view, 0, {kSameValues, kKeepsNothing}},
    {kOnnx, "Dropout", view, 0, {kSameValues, kKeepsMask}},
    {kOnnx, "BitCast", view},
    {kOnnx, "Optional", view},
    {kOnnx, "OptionalGetElement", view},
    {kOnnx, "OptionalHasElement", view},
    {kOnnx, "SequenceConstruct", view},
    {kOnnx, "SequenceAt", view},
    {kOnnx, "SequenceEmpty", view},
    {kOnnx, "SequenceErase", view},
    {kOnnx, "SequenceInsert", view},
    {kOnnx, "SequenceLength", view},
    // Shapes and constants
    {kOnnx, "Shape", shape_only, 0, {kNoGradient}},
    {kOnnx, "Size", shape_only, 0, {kNoGradient}},
    {kOnnx, "Constant", constant, 0, {kNoGradient}},
    {kOnnx, "ConstantOfShape", moves, 0, {kNoGradient}},
    {kOnnx, "EyeLike", shape_only, 0, {kNoGradient}},
    {kOnnx, "Range", per_output_element, 1, {kNoGradient}},
    {kOnnx, "HannWindow", per_output_element, 4},
    {kOnnx, "HammingWindow", per_output_element, 4},
    {kOnnx, "BlackmanWindow", per_output_element, 7},
    {kOnnx, "MelWeightMatrix", per_output_element, 4},
    {kOnnx, "RandomNormal", per_output_element, 1, {kNoGradient, kRandom}},
    {kOnnx, "RandomUniform", per_output_element, 1, {kNoGradient, kRandom}},
    {kOnnx, "RandomNormalLike", per_output_element, 1, {kNoGradient, kRandom}},
    {kOnnx, "RandomUniformLike", per_output_element, 1, {kNoGradient, kRandom}},
    {kOnnx, "Bernoulli", per_output_element, 2, {kNoGradient, kRandom}},
    {kOnnx, "Multinomial", per_input_element, 3, {kNoGradient, kRandom}},
    // Copies
    {kOnnx, "Transpose", transpose, 0, {kReordered, kKeepsNothing, kMovesInts}},
    {kOnnx, "Concat", concatenates, 0, {kKeepsNothing, kCombinesInts}},
    {kOnnx, "Split", moves_unless_same, 0, {kSelected, kKeepsNothing, kMovesInts}},
    {kOnnx, "Slice", selects, 0, {kSelected, kKeepsNothing, kMovesInts}},
    {kOnnx, "Pad", moves_unless_same, 0, {kKeepsNothing}},
    {kOnnx, "Expand", moves_unless_same, 0, {kSelected, kKeepsNothing, kMovesInts}},
    {kOnnx, "Tile", moves_unless_same, 0, {kKeepsNothing, kMovesInts}},
    {kOnnx, "DepthToSpace", moves, 0, {kKeepsNothing}},
    {kOnnx, "SpaceToDepth", moves, 0, {kKeepsNothing}},
    {kOnnx, "ReverseSequence", moves, 0, {kKeepsNothing}},
    {kOnnx, "Trilu", moves, 0, {kOverwrites, kKeepsNothing}},
    {kOnnx, "OneHot", moves, 0, {kNoGradient}},
    {kOnnx, "CenterCropPad", selects, 0, {kKeepsNothing}},
    {kOnnx, "SplitToSequence", moves},
    {kOnnx, "ConcatFromSequence", moves},
    // By index
    {kOnnx, "Gather", gathers, 0, {kKeepsIndices, kLooksUp}},
    {kOnnx, "GatherElements", gathers, 0, {kKeepsIndices, kLooksUp}},
    {kOnnx, "GatherND", gathers, 0, {kKeepsIndices}},
    {kMicrosoft, "GatherBlockQuantized", gathers_quantised, 2, {kLooksUp}},  // zero point, scale
    {kOnnx, "Compress", gathers, 0, {kDataSized}},
    {kOnnx, "Scatter", scatters, 0, {kOverwrites, kKeepsIndices, kKeepsFirstSize}},
    {kOnnx, "ScatterElements", scatters, 0, {kOverwrites, kKeepsIndices, kKeepsFirstSize}},
    {kOnnx, "ScatterND", scatters, 0, {kKeepsIndices, kKeepsFirstSize}},
    {kOnnx, "TensorScatter", scatters},
    {kOnnxMl, "ArrayFeatureExtractor", gathers},
    {kOnnxMl, "LabelEncoder", moves},
    {kOnnxMl, "OneHotEncoder", moves},
    {kOnnxMl, "FeatureVectorizer", moves},
    // Blocked layout of ONNX Runtime
    {kBlocked, "ReorderInput", moves},
    {kBlocked, "ReorderOutput", moves},
    // Copies between devices, inserted by ONNX Runtime
    {kOnnx, "MemcpyFromHost", moves},
    {kOnnx, "MemcpyToHost", moves},
};

}  // namespace

std::span<const Rule> movement_rules() { return kMovementRules; }

}  // namespace ridge::cost
