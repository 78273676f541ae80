// Products of matrices, and what slides a window over its input.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "model/ir_rows.h"

namespace ridge::model {
namespace {

std::string transposed(IrWriter& w, size_t input, bool wanted, size_t rank) {
  if (!wanted || rank < 2) return w.in(input);
  Sizes order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[rank - 1], order[rank - 2]);
  onnx::NodeProto* transpose = nullptr;
  const std::string result = w.step("Transpose", {w.in(input)}, &transpose);
  set(*transpose, "perm", order);
  return result;
}

bool write_matmul(IrWriter& w, const char* op) {
  const std::optional<size_t> a = w.rank(0), b = w.rank(1);
  if (!a || !b) return false;
  const std::string left = transposed(w, 0, w.flag("transpose_a"), *a);
  const std::string right = transposed(w, 1, w.flag("transpose_b"), *b);
  w.node(op, {left, right});
  return true;
}

void set_window(IrWriter& w, onnx::NodeProto& node, bool dilated) {
  set(node, "strides", w.integers("strides"));
  if (dilated && w.has("dilations")) set(node, "dilations", w.integers("dilations"));
  const std::string automatic = w.text("auto_pad");
  if (automatic == "same_upper" || automatic == "same_lower") {
    set(node, "auto_pad", std::string(automatic == "same_upper" ? "SAME_UPPER" : "SAME_LOWER"));
  } else if (automatic != "valid") {
    Sizes pads = w.integers("pads_begin");
    const Sizes ends = w.integers("pads_end");
    pads.insert(pads.end(), ends.begin(), ends.end());
    set(node, "pads", pads);
  }
}

bool write_convolution(IrWriter& w, const char* op) {
  set_window(w, w.node(op, w.ins(0, 2)), true);
  return true;
}

// Weights [groups, a, b, …] as [groups · a, b, …].
std::string without_groups(IrWriter& w, int64_t groups) {
  const IrTensor& weights = *w.tensor(1);
  Sizes shape(weights.shape->begin() + 1, weights.shape->end());
  shape.front() *= groups;
  return w.step("Reshape", {w.in(1), w.constant(shape)});
}

// Groups of the weights; 0: not known.
int64_t groups_of(const IrWriter& w) {
  const IrTensor* weights = w.tensor(1);
  constexpr int64_t kMost = 1 << 24;
  if (weights == nullptr || !weights->shape || weights->shape->size() < 3) return 0;
  const bool sized = std::all_of(weights->shape->begin(), weights->shape->end(),
                                 [](int64_t size) { return size > 0 && size < kMost; });
  return sized ? weights->shape->front() : 0;
}

bool write_group_convolution(IrWriter& w, const char* op) {
  const int64_t groups = groups_of(w);
  if (groups < 1) return false;
  const std::string weights = without_groups(w, groups);
  onnx::NodeProto& node = w.node(op, {w.in(0), weights});
  set_window(w, node, true);
  set(node, "group", groups);
  return true;
}

void set_output_padding(IrWriter& w, onnx::NodeProto& node) {
  set_window(w, node, true);
  if (w.has("output_padding")) set(node, "output_padding", w.integers("output_padding"));
}

bool write_transposed_convolution(IrWriter& w, const char* op) {
  const std::optional<Sizes> shape = w.values(2);
  if (w.layer().inputs.size() > 2 && !shape) return false;
  onnx::NodeProto& node = w.node(op, w.ins(0, 2));
  set_output_padding(w, node);
  if (shape) set(node, "output_shape", *shape);
  return true;
}

bool write_transposed_group_convolution(IrWriter& w, const char* op) {
  const int64_t groups = groups_of(w);
  if (groups < 1 || w.layer().inputs.size() > 2) return false;
  const std::string weights = without_groups(w, groups);
  onnx::NodeProto& node = w.node(op, {w.in(0), weights});
  set_output_padding(w, node);
  set(node, "group", groups);
  return true;
}

bool write_pool(IrWriter& w, const char* op) {
  if (w.is_read(1)) return false;  // indices, counted otherwise in ONNX
  onnx::NodeProto& node = w.node(op, w.ins(0, 1));
  set(node, "kernel_shape", w.integers("kernel"));
  set_window(w, node, w.layer().type == "MaxPool");
  if (w.text("rounding_type") == "ceil") set(node, "ceil_mode", int64_t{1});
  if (w.has("exclude-pad") && !w.flag("exclude-pad")) set(node, "count_include_pad", int64_t{1});
  return true;
}

constexpr IrRow kWindowRows[] = {
    {"AvgPool", write_pool, "AveragePool"},
    {"Convolution", write_convolution, "Conv"},
    {"ConvolutionBackpropData", write_transposed_convolution, "ConvTranspose"},
    {"GroupConvolution", write_group_convolution, "Conv"},
    {"GroupConvolutionBackpropData", write_transposed_group_convolution, "ConvTranspose"},
    {"MatMul", write_matmul, "MatMul"},
    {"MaxPool", write_pool, "MaxPool"},
};

}  // namespace

std::span<const IrRow> window_rows() { return kWindowRows; }

}  // namespace ridge::model
