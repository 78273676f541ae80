// Detection, resizing, attention, recurrences, and results whose size depends on the data.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <optional>
#include <string>

#include "model/ir_rows.h"

namespace ridge::model {
namespace {

bool write_top_k(IrWriter& w, const char* op) {
  const std::optional<int64_t> k = w.value(1);
  if (!k || w.outs().size() != 2) return false;
  onnx::NodeProto& node = w.node(op, {w.in(0), w.constant(Sizes{*k})}, w.outs());
  set(node, "axis", w.integer("axis").value_or(-1));
  set(node, "largest", int64_t{w.text("mode") != "min"});
  return true;
}

bool write_non_max_suppression(IrWriter& w, const char* op) {
  if (w.is_read(1) || w.is_read(2) || w.layer().inputs.size() < 2) return false;
  Operands inputs = w.ins(0, 5);
  if (inputs.size() > 2) inputs[2] = as_int64(w, 2);
  set(w.node(op, inputs), "center_point_box", int64_t{w.text("box_encoding") == "center"});
  return true;
}

std::string resize_mode(const std::string& mode) {
  if (mode == "nearest") return mode;
  if (mode == "cubic" || mode == "bicubic_pillow") return "cubic";
  return mode.starts_with("linear") || mode.starts_with("bilinear") ? "linear" : "";
}

// Data, sizes, scales, axes up to opset 10; later data, one of both, axes.
bool write_interpolate(IrWriter& w, const char* op) {
  const bool both = w.layer().version == "opset4";
  const bool by_scales = w.text("shape_calculation_mode") == "scales";
  const size_t axes_at = both ? 3 : 2;
  const std::string mode = resize_mode(w.text("mode"));
  if (mode.empty() || w.layer().version == "opset1" || any_set(w.integers("pads_begin")) ||
      any_set(w.integers("pads_end")))
    return false;
  const std::optional<Sizes> axes = w.values(axes_at);
  if (!axes && w.layer().inputs.size() > axes_at) return false;
  Operands inputs = {w.in(0), "", ""};
  if (by_scales)
    inputs[2] = w.in(both ? 2 : 1);
  else
    inputs.push_back(as_int64(w, 1));
  onnx::NodeProto& node = w.node(op, inputs);
  set(node, "mode", mode);
  if (axes) set(node, "axes", *axes);
  return true;
}

// Q·Kᵀ, scaled and masked, then softmax and ·V, of [batch, heads, length, size].
bool write_attention(IrWriter& w, const char* op) {
  if (w.rank(0) != 4u || w.rank(1) != 4u || w.rank(2) != 4u) return false;
  onnx::NodeProto& node = w.node(op, w.ins(0, w.rank(3).value_or(0) > 0 ? 4 : 3));
  if (w.flag("causal")) set(node, "is_causal", int64_t{1});
  return true;
}

bool write_einsum(IrWriter& w, const char* op) {
  set(w.node(op, w.ins()), "equation", w.text("equation"));
  return true;
}

// Whether the tensor is computed from shapes and constants alone.
bool of_shapes(const IrWriter& w, int tensor, int depth = 0) {
  const IrLayer* maker = w.maker_of(tensor);
  constexpr int kDeepest = 8;
  if (maker == nullptr || depth > kDeepest) return false;
  if (maker->type == "Const" || maker->type == "ShapeOf") return true;
  constexpr size_t kMostInputs = 4;  // of a layer that computes with shapes: the walk stays small
  return !maker->inputs.empty() && maker->inputs.size() <= kMostInputs &&
         std::all_of(maker->inputs.begin(), maker->inputs.end(),
                     [&](int input) { return of_shapes(w, input, depth + 1); });
}

// X [batch, length, size], states, lengths, W, R, B. ONNX has other places for the same, and [batch, length, directions, units]
// for Y. Lengths that follow from shapes are those of the whole sequence.
bool write_recurrent(IrWriter& w, const char* op) {
  const bool lstm = w.layer().type == "LSTMSequence";
  const size_t states = lstm ? 2 : 1, lengths = 1 + states;
  const int64_t units = w.integer("hidden_size").value_or(0);
  if (w.layer().inputs.size() != lengths + 4 || units < 1) return false;
  Operands inputs = {w.in(0), w.in(lengths + 1), w.in(lengths + 2), w.in(lengths + 3), "", w.in(1)};
  if (!of_shapes(w, w.layer().inputs[lengths])) inputs[4] = w.in(lengths);
  if (lstm) inputs.push_back(w.in(2));
  Operands outputs = w.outs();
  if (outputs.size() != states + 1) return false;
  onnx::NodeProto* sequence = nullptr;
  const std::string y = w.step(op, inputs, &sequence);
  sequence->set_name(w.layer().name);
  for (size_t i = 1; i < outputs.size(); ++i) sequence->add_output(outputs[i]);
  set(*sequence, "hidden_size", units);
  set(*sequence, "layout", int64_t{1});
  set(*sequence, "direction", w.text("direction"));
  onnx::NodeProto& order = w.node("Transpose", {y}, {outputs[0]});
  order.set_name(y + "/Transpose");
  set(order, "perm", Sizes{0, 2, 1, 3});
  return true;
}

bool write_reverse_sequence(IrWriter& w, const char* op) {
  onnx::NodeProto& node = w.node(op, {w.in(0), as_int64(w, 1)});
  set(node, "batch_axis", w.integer("batch_axis").value_or(0));
  set(node, "time_axis", w.integer("seq_axis").value_or(1));
  return true;
}

constexpr IrRow kOtherRows[] = {
    {"Einsum", write_einsum, "Einsum"},
    {"GRUSequence", write_recurrent, "GRU"},
    {"Interpolate", write_interpolate, "Resize"},
    {"LSTMSequence", write_recurrent, "LSTM"},
    {"NonMaxSuppression", write_non_max_suppression, "NonMaxSuppression"},
    {"NonZero", write_same, "NonZero"},
    {"RNNSequence", write_recurrent, "RNN"},
    {"Range", write_same, "Range"},
    {"ReverseSequence", write_reverse_sequence, "ReverseSequence"},
    {"ScaledDotProductAttention", write_attention, "Attention"},
    {"TopK", write_top_k, "TopK"},
};

}  // namespace

std::span<const IrRow> other_rows() { return kOtherRows; }

}  // namespace ridge::model
