// Reductions over axes, and the normalisations that use them.
#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

#include "model/ir_rows.h"

namespace ridge::model {
namespace {

bool write_reduce(IrWriter& w, const char* op) {
  const std::string axes = as_int64(w, 1);
  set(w.node(op, {w.in(0), axes}), "keepdims", int64_t{w.flag("keep_dims")});
  return true;
}

bool write_softmax(IrWriter& w, const char* op) {
  set(w.node(op, w.ins(0, 1)), "axis", w.integer("axis").value_or(1));
  return true;
}

bool write_mean_variance(IrWriter& w, const char* op) {
  const std::optional<Sizes> axes = w.values(1);
  if (!axes) return false;
  set(w.node(op, w.ins(0, 1)), "axes", *axes);
  return true;
}

bool write_batch_norm(IrWriter& w, const char* op) {
  if (w.layer().inputs.size() != 5) return false;
  const bool data_first = w.layer().version != "opset1";
  const Operands inputs = data_first ? w.ins() : Operands{w.in(2), w.in(0), w.in(1), w.in(3), w.in(4)};
  set(w.node(op, inputs), "epsilon", w.number("epsilon", w.number("eps", 1e-5)));
  return true;
}

bool write_group_norm(IrWriter& w, const char* op) {
  onnx::NodeProto& node = w.node(op, w.ins(0, 3));
  set(node, "num_groups", w.integer("num_groups").value_or(1));
  set(node, "epsilon", w.number("epsilon", 1e-5));
  return true;
}

bool write_local_response(IrWriter& w, const char* op) {
  const std::optional<Sizes> axes = w.values(1);
  if (!axes || *axes != Sizes{1}) return false;
  onnx::NodeProto& node = w.node(op, w.ins(0, 1));
  set(node, "size", w.integer("size").value_or(1));
  return true;
}

bool write_normalise_l2(IrWriter& w, const char* op) {
  const std::optional<int64_t> axis = w.value(1);
  if (!axis) return false;
  set(w.node(op, w.ins(0, 1)), "axis", *axis);
  return true;
}

constexpr IrRow kReductionRows[] = {
    {"BatchNormInference", write_batch_norm, "BatchNormalization"},
    {"GroupNormalization", write_group_norm, "GroupNormalization"},
    {"LRN", write_local_response, "LRN"},
    {"LogSoftmax", write_softmax, "LogSoftmax"},
    {"MVN", write_mean_variance, "MeanVarianceNormalization"},
    {"NormalizeL2", write_normalise_l2, "LpNormalization"},
    {"ReduceL1", write_reduce, "ReduceL1"},
    {"ReduceL2", write_reduce, "ReduceL2"},
    {"ReduceMax", write_reduce, "ReduceMax"},
    {"ReduceMean", write_reduce, "ReduceMean"},
    {"ReduceMin", write_reduce, "ReduceMin"},
    {"ReduceProd", write_reduce, "ReduceProd"},
    {"ReduceSum", write_reduce, "ReduceSum"},
    {"SoftMax", write_softmax, "Softmax"},
};

}  // namespace

std::span<const IrRow> reduction_rows() { return kReductionRows; }

}  // namespace ridge::model
