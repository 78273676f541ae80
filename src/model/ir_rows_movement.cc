// What moves, selects or describes elements; and sums along an axis.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "model/ir_rows.h"

namespace ridge::model {
namespace {

bool write_with_sizes(IrWriter& w, const char* op) {
  Operands inputs = {w.in(0)};
  if (w.layer().inputs.size() > 1) inputs.push_back(as_int64(w, 1));
  w.node(op, inputs);
  return true;
}

bool write_reshape(IrWriter& w, const char* op) {
  const std::string shape = as_int64(w, 1);
  set(w.node(op, {w.in(0), shape}), "allowzero", int64_t{!w.flag("special_zero")});
  return true;
}

bool write_transpose(IrWriter& w, const char* op) {
  const std::optional<Sizes> order = w.values(1);
  if (!order) return false;
  onnx::NodeProto& node = w.node(op, w.ins(0, 1));
  if (!order->empty()) set(node, "perm", *order);
  return true;
}

bool write_with_axis(IrWriter& w, const char* op) {
  set(w.node(op, w.ins()), "axis", w.integer("axis").value_or(0));
  return true;
}

// Gather, GatherElements' kin: the axis is the third input.
bool write_gather(IrWriter& w, const char* op) {
  const std::optional<int64_t> axis = w.value(2);
  if (!axis || w.integer("batch_dims").value_or(0) != 0) return false;
  set(w.node(op, w.ins(0, 2)), "axis", *axis);
  return true;
}

bool write_gather_nd(IrWriter& w, const char* op) {
  const std::string indices = as_int64(w, 1);
  set(w.node(op, {w.in(0), indices}), "batch_dims", w.integer("batch_dims").value_or(0));
  return true;
}

bool write_scatter_nd(IrWriter& w, const char* op) {
  w.node(op, {w.in(0), as_int64(w, 1), w.in(2)});
  return true;
}

bool write_scatter_elements(IrWriter& w, const char* op) {
  const std::optional<int64_t> axis = w.value(3);
  if (!axis || (w.has("reduction") && w.text("reduction") != "none")) return false;
  set(w.node(op, w.ins(0, 3)), "axis", *axis);
  return true;
}

// The lengths of the parts; one of −1 is what the others leave. Absent: not known.
std::optional<Sizes> lengths_of(const IrWriter& w, int64_t axis) {
  std::optional<Sizes> lengths = w.values(2);
  if (!lengths || std::count(lengths->begin(), lengths->end(), -1) != 1) return lengths;
  const std::optional<size_t> rank = w.rank(0);
  if (axis < 0) axis += static_cast<int64_t>(rank.value_or(0));
  const int64_t whole = axis < 0 ? -1 : w.size(0, static_cast<size_t>(axis));
  int64_t others = 0;
  for (const int64_t length : *lengths) {
    if (length > whole || length < -1) return std::nullopt;
    if (__builtin_add_overflow(others, std::max<int64_t>(length, 0), &others)) return std::nullopt;
  }
  if (others > whole) return std::nullopt;
  std::replace(lengths->begin(), lengths->end(), int64_t{-1}, whole - others);
  return lengths;
}

bool write_split(IrWriter& w, const char* op) {
  const std::optional<int64_t> axis = w.value(1);
  const bool even = w.layer().type == "Split";
  const std::optional<Sizes> lengths = axis && !even ? lengths_of(w, *axis) : std::nullopt;
  if (!axis || (!even && !lengths)) return false;
  Operands inputs = {w.in(0)};
  if (!even) inputs.push_back(w.constant(*lengths));
  onnx::NodeProto& node = w.node(op, inputs, w.outs());
  set(node, "axis", *axis);
  if (even) set(node, "num_outputs", static_cast<int64_t>(w.layer().outputs.size()));
  return true;
}

bool write_slice(IrWriter& w, const char* op) {
  Operands inputs = {w.in(0), as_int64(w, 1), as_int64(w, 2)};
  if (w.layer().inputs.size() > 4) inputs.push_back(as_int64(w, 4));  // axes
  if (w.layer().inputs.size() > 3) {
    inputs.resize(4);  // all axes, where none are named
    inputs.push_back(as_int64(w, 3));
  }
  w.node(op, inputs);
  return true;
}

// Masked begins and ends are those of the tensor; shrunk axes go afterwards.
bool write_strided_slice(IrWriter& w, const char* op) {
  std::optional<Sizes> begins = w.values(1), ends = w.values(2);
  if (!begins || !ends || begins->size() != ends->size() || any_set(w.integers("new_axis_mask")) ||
      any_set(w.integers("ellipsis_mask")))
    return false;
  const Sizes begin_mask = w.integers("begin_mask"), end_mask = w.integers("end_mask"),
              shrink = w.integers("shrink_axis_mask");
  Sizes steps = w.values(3).value_or(Sizes(begins->size(), 1)), axes, gone;
  if (steps.size() != begins->size()) return false;
  for (size_t i = 0; i < begins->size(); ++i) {
    axes.push_back(static_cast<int64_t>(i));
    const bool forward = steps[i] > 0, shrinks = i < shrink.size() && shrink[i] != 0;
    constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
    if (i < begin_mask.size() && begin_mask[i] != 0 && !shrinks) (*begins)[i] = forward ? 0 : kFar;
    if (i < end_mask.size() && end_mask[i] != 0) (*ends)[i] = forward ? kFar : -kFar;
    if (!shrinks) continue;
    if ((*begins)[i] == -1)
      (*ends)[i] = kFar;
    else if (__builtin_add_overflow((*begins)[i], int64_t{1}, &(*ends)[i]))
      return false;
    steps[i] = 1;
    gone.push_back(static_cast<int64_t>(i));
  }
  const Operands inputs = {w.in(0), w.constant(*begins), w.constant(*ends), w.constant(axes), w.constant(steps)};
  if (gone.empty())
    w.node(op, inputs);
  else
    w.node("Squeeze", {w.step(op, inputs), w.constant(gone)});
  return true;
}

bool write_shape_of(IrWriter& w, const char* op) {
  if (w.text("output_type") != "i32") return write_first_only(w, op);
  const std::string shape = w.step(op, w.ins(0, 1));
  set(w.node("Cast", {shape}), "to", int64_t{onnx::TensorProto::INT32});
  return true;
}

bool write_broadcast(IrWriter& w, const char* op) {
  if (w.text("mode") != "numpy" && w.text("mode") != "bidirectional") return false;
  return write_with_sizes(w, op);
}

bool write_pad(IrWriter& w, const char* op) {
  const std::string mode = w.text("pad_mode");
  if (mode == "symmetric") return false;
  const std::string begins = as_int64(w, 1), ends = as_int64(w, 2);
  onnx::NodeProto* concat = nullptr;
  const std::string pads = w.step("Concat", {begins, ends}, &concat);
  set(*concat, "axis", int64_t{0});
  Operands inputs = {w.in(0), pads};
  if (w.layer().inputs.size() > 3) inputs.push_back(w.in(3));
  set(w.node(op, inputs), "mode", mode.empty() ? std::string("constant") : mode);
  return true;
}

bool write_depth_to_space(IrWriter& w, const char* op) {
  onnx::NodeProto& node = w.node(op, w.ins(0, 1));
  set(node, "blocksize", w.integer("block_size").value_or(1));
  if (w.text("mode") == "depth_first") set(node, "mode", std::string("CRD"));
  return true;
}

bool write_space_to_depth(IrWriter& w, const char* op) {
  if (w.text("mode") == "depth_first") return false;
  set(w.node(op, w.ins(0, 1)), "blocksize", w.integer("block_size").value_or(1));
  return true;
}

// [n, g · c, h, w] → [n, g, c, h, w] → [n, c, g, h, w] → back.
bool write_shuffle_channels(IrWriter& w, const char*) {
  const int64_t groups = w.integer("group").value_or(1), channels = w.size(0, 1);
  if (w.rank(0) != 4u || w.integer("axis").value_or(1) != 1 || groups < 1 || channels < groups || w.size(0, 2) < 0 ||
      w.size(0, 3) < 0)
    return false;
  const std::string split =
      w.step("Reshape", {w.in(0), w.constant({0, groups, channels / groups, w.size(0, 2), w.size(0, 3)})});
  onnx::NodeProto* exchange = nullptr;
  const std::string exchanged = w.step("Transpose", {split}, &exchange);
  set(*exchange, "perm", Sizes{0, 2, 1, 3, 4});
  w.node("Reshape", {exchanged, w.constant({0, channels, w.size(0, 2), w.size(0, 3)})});
  return true;
}

bool write_cumulative_sum(IrWriter& w, const char* op) {
  onnx::NodeProto& node = w.node(op, {w.in(0), as_int64(w, 1)});
  set(node, "exclusive", int64_t{w.flag("exclusive")});
  set(node, "reverse", int64_t{w.flag("reverse")});
  return true;
}

constexpr IrRow kMovementRows[] = {
    {"Broadcast", write_broadcast, "Expand"},
    {"Concat", write_with_axis, "Concat"},
    {"CumSum", write_cumulative_sum, "CumSum"},
    {"DepthToSpace", write_depth_to_space, "DepthToSpace"},
    {"Gather", write_gather, "Gather"},
    {"GatherElements", write_with_axis, "GatherElements"},
    {"GatherND", write_gather_nd, "GatherND"},
    {"Pad", write_pad, "Pad"},
    {"Reshape", write_reshape, "Reshape"},
    {"ScatterElementsUpdate", write_scatter_elements, "ScatterElements"},
    {"ScatterNDUpdate", write_scatter_nd, "ScatterND"},
    {"ShapeOf", write_shape_of, "Shape"},
    {"ShuffleChannels", write_shuffle_channels, "Transpose"},
    {"Slice", write_slice, "Slice"},
    {"SpaceToDepth", write_space_to_depth, "SpaceToDepth"},
    {"Split", write_split, "Split"},
    {"Squeeze", write_with_sizes, "Squeeze"},
    {"StridedSlice", write_strided_slice, "Slice"},
    {"Tile", write_with_sizes, "Tile"},
    {"Transpose", write_transpose, "Transpose"},
    {"Unsqueeze", write_with_sizes, "Unsqueeze"},
    {"VariadicSplit", write_split, "Split"},
};

}  // namespace

std::span<const IrRow> movement_rows() { return kMovementRows; }

}  // namespace ridge::model
