// Every other kernel: elements that it goes through, stretches in which it can go on without looking up, bytes per level.
#include "cost/operators.h"
#include "model/domains.h"
#include "predict/kernel_work_parts.h"

namespace ridge::predict {
namespace {

double most_elements(const std::vector<cost::Operand>& operands) {
  double most = 0;
  for (const cost::Operand& operand : operands) most = std::max(most, operand_elements(operand));
  return most;
}

const Shape* known_shape(const std::vector<cost::Operand>& operands, size_t i) {
  return i < operands.size() && operands[i].present && operands[i].shape ? &*operands[i].shape : nullptr;
}

double product(const Shape& shape, size_t from) {
  double all = 1;
  for (size_t i = from; i < shape.size(); ++i) all *= static_cast<double>(std::max<int64_t>(shape[i], 0));
  return all;
}

// Elements at the end of the output for which an operand of `shape` advances uniformly: one by one, or constant.
double broadcast_span(const Shape& out, const Shape& shape) {
  double span = 1;
  std::optional<bool> moves;
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t axis = out.size() - 1 - i;
    if (out[axis] == 1) continue;
    const bool moves_here = i < shape.size() && shape[shape.size() - 1 - i] != 1;
    if (moves && *moves != moves_here) break;
    moves = moves_here;
    span *= static_cast<double>(out[axis]);
  }
  return span;
}

// Elements that stay adjacent in a permutation.
double kept_span(const Shape& in, const std::vector<int64_t>& order) {
  double span = 1;
  for (size_t i = in.size(); i-- > 0;) {
    const int64_t from = i < order.size() ? order[i] : static_cast<int64_t>(in.size() - 1 - i);
    if (from != static_cast<int64_t>(i)) break;
    span *= static_cast<double>(in[i]);
  }
  return span;
}

double along_axis(const Kernel& kernel, const Shape& shape, int64_t otherwise) {
  int64_t axis = attribute_or(kernel, "axis", otherwise);
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  return product(shape, static_cast<size_t>(std::clamp<int64_t>(axis, 0, static_cast<int64_t>(shape.size()))));
}

// Elements between two looks at an index, by operator.
double permuted_span(const Kernel& kernel, const Shape& in, const Shape&) {
  return kept_span(in, attribute_or(kernel, "perm", Shape()));
}
double joined_span(const Kernel& kernel, const Shape& in, const Shape&) { return along_axis(kernel, in, 0); }
double split_span(const Kernel& kernel, const Shape&, const Shape& out) { return along_axis(kernel, out, 0); }
double softmax_span(const Kernel& kernel, const Shape& in, const Shape&) { return along_axis(kernel, in, -1); }
double looked_up_span(const Kernel&, const Shape& in, const Shape&) { return in.empty() ? 1 : product(in, 1); }
double innermost_span(const Kernel&, const Shape&, const Shape& out) {
  return out.empty() ? 1 : static_cast<double>(out.back());
}
double image_row_span(const Kernel&, const Shape&, const Shape& out) {
  return out.size() == 4 ? static_cast<double>(std::max<int64_t>(out[3], 1)) : 1;
}
double elementwise_span(const Kernel& kernel, const Shape&, const Shape& out) {
  double span = product(out, 0);
  for (const cost::Operand& operand : kernel.inputs)
    if (operand.present && operand.shape) span = std::min(span, broadcast_span(out, *operand.shape));
  return std::max(span, 1.0);
}

// Loops of one operator that differ: what its kind is called then.
std::string_view moves_last(const Kernel&, double span) { return span <= 1 ? " last" : ""; }
// One operand is broadcast in stretches.
std::string_view spreads(const Kernel& kernel, double span) {
  return !kernel.outputs.empty() && span < operand_elements(kernel.outputs[0]) ? " spread" : "";
}
std::string_view is_dense(const Kernel& kernel, double) {
  const Shape strides = attribute_or(kernel, "strides", Shape());
  return !strides.empty() && strides.back() == 1 ? " dense" : "";
}

double window(const Kernel& kernel) {
  double taps = 1;
  for (int64_t size : attribute_or(kernel, "kernel_shape", Shape())) taps *= static_cast<double>(size);
  return taps;
}

// Operations of loops that look at one value at a time, with branches and addresses between: what no vector helps. Per pair of
// boxes 14, per bilinear sample 8 (docs/methods.md); for indices as seen in profiles of an AMD EPYC (ONNX Runtime 1.31.1: 12 ns
// per element that NonZero looks at, 6 per element scattered, 8 per slice gathered).
double elements_of_input(const Kernel& kernel, size_t i) {
  return i < kernel.inputs.size() ? operand_elements(kernel.inputs[i]) : 0;
}
double samples(const Kernel& kernel) {
  const auto ratio = static_cast<double>(std::max<int64_t>(attribute_or<int64_t>(kernel, "sampling_ratio", 0), 0));
  return 8 * (kernel.outputs.empty() ? 0 : operand_elements(kernel.outputs[0])) * (ratio > 0 ? ratio * ratio : 4);
}
double looks(const Kernel& kernel) { return 24 * elements_of_input(kernel, 0); }
double scattered(const Kernel& kernel) { return 12 * elements_of_input(kernel, 2); }
double gathered(const Kernel& kernel) { return 16 * elements_of_input(kernel, 1); }
double pairs_of_boxes(const Kernel& kernel) {
  const Shape* scores = known_shape(kernel.inputs, 1);
  if (scores == nullptr || scores->size() != 3 || (*scores)[2] < 1) return 0;
  // Each box meets those kept so far. Without a limit in the file, a tenth is assumed to be kept.
  const auto boxes = static_cast<double>((*scores)[2]);
  double kept = 0.1 * boxes;
  if (kernel.inputs.size() > 2 && kernel.inputs[2].values && !kernel.inputs[2].values->empty())
    if (const auto limit = static_cast<double>(kernel.inputs[2].values->front()); limit < boxes) kept = limit;
  return 14 * elements_of_input(kernel, 1) * kept / 2;
}

struct Loop {
  std::string_view op;
  double (*span)(const Kernel&, const Shape& in, const Shape& out) = elementwise_span;
  std::string_view (*variant)(const Kernel&, double span) = nullptr;
  std::string_view same_as = {};  // operator that runs the same loop
  bool reads_all = true;          // false: as much as it writes
  double (*scalar_operations)(const Kernel&) = nullptr;
  bool scalar_threads = false;  // the scalar operations are shared by all threads
};

constexpr Loop kLoops[] = {
    {.op = "Transpose", .span = permuted_span, .variant = moves_last},
    {.op = "Concat", .span = joined_span},
    {.op = "Split", .span = split_span},
    {.op = "Slice", .span = innermost_span, .reads_all = false},
    {.op = "Gather", .span = looked_up_span, .reads_all = false},
    {.op = "GatherElements", .reads_all = false},
    {.op = "GatherBlockQuantized", .reads_all = false},
    {.op = "GatherND", .reads_all = false, .scalar_operations = gathered},
    {.op = "ScatterElements", .scalar_operations = scattered},
    {.op = "NonZero", .scalar_operations = looks},
    {.op = "NonMaxSuppression", .scalar_operations = pairs_of_boxes},
    {.op = "RoiAlign", .scalar_operations = samples, .scalar_threads = true},
    {.op = "Softmax", .span = softmax_span},
    {.op = "LogSoftmax", .span = softmax_span},
    // Without mean and offset, otherwise the same loop.
    {.op = "SimplifiedLayerNormalization", .span = innermost_span, .same_as = "LayerNormalization"},
    {.op = "RMSNormalization", .span = innermost_span, .same_as = "LayerNormalization"},
    {.op = "MaxPool", .span = image_row_span, .variant = is_dense},
    {.op = "AveragePool", .span = image_row_span, .variant = is_dense},
    {.op = "ReorderInput", .span = image_row_span},
    {.op = "ReorderOutput", .span = image_row_span},
    {.op = "Add", .variant = spreads},
    {.op = "Sub", .variant = spreads},
    {.op = "Mul", .variant = spreads},
    {.op = "Div", .variant = spreads},
};

// Of an operator without a row: as its traits say.
Loop loop_of(const Kernel& kernel) {
  for (const Loop& loop : kLoops)
    if (loop.op == kernel.op) return loop;
  const cost::Operator& row = cost::operator_of(kernel.domain, kernel.op);
  if (row.is(cost::Trait::kNormalises)) return {.op = kernel.op, .span = innermost_span};
  return {.op = kernel.op, .span = row.kernel == cost::KernelFamily::kPooling ? image_row_span : elementwise_span};
}

double span_of(const Kernel& kernel, const Loop& loop) {
  const Shape *in = known_shape(kernel.inputs, 0), *out = known_shape(kernel.outputs, 0);
  return in == nullptr || out == nullptr ? 1 : loop.span(kernel, *in, *out);
}

std::string kind_of(const Kernel& kernel, const Loop& loop, double span) {
  std::string kind = kernel.domain == model::kBlocked ? "blocked " : "";
  kind += loop.same_as.empty() ? loop.op : loop.same_as;
  if (loop.variant != nullptr) kind += loop.variant(kernel, span);
  return kind;
}

}  // namespace

KernelWork other_work(const Kernel& kernel, const KernelDevice& device) {
  const Loop loop = loop_of(kernel);
  const double written = most_elements(kernel.outputs);
  const double elements = loop.reads_all ? std::max(written, most_elements(kernel.inputs)) : written;
  double moved = 0;
  for (const cost::Operand& operand : kernel.outputs) moved += operand_bytes(operand);
  if (loop.reads_all)
    for (const cost::Operand& operand : kernel.inputs) moved += operand_bytes(operand);
  else
    moved *= 2;
  const double span = span_of(kernel, loop), threads = device.threads;
  KernelWork work;
  work.kind = kind_of(kernel, loop, span);
  if (is_view(kernel)) return work;
  work.terms.push_back({"elements", elements * 1e-3 / threads});
  work.terms.push_back({"spans", elements / std::max(span, 1.0) * 1e-2 / threads});
  if (const double taps = window(kernel); taps > 1) work.terms.push_back({"taps", written * taps * 1e-4 / threads});
  work.terms.push_back({"near", us_of(moved, device.near_bytes_per_s) / threads});
  work.terms.push_back({"far", us_of(moved * share_beyond(moved, device.near_capacity_bytes * kUsableNear),
                                     device.far_shared_bytes_per_s)});
  work.terms.push_back(
      {"memory", us_of(moved * share_beyond(moved, device.far_capacity_bytes * kUsableFar), device.dram_bytes_per_s)});
  // Two a cycle, of the flops_per_s that two multiply-adds of whole vectors a cycle make.
  if (const double operations = loop.scalar_operations != nullptr ? loop.scalar_operations(kernel) : 0;
      operations > 0) {
    const double lanes = static_cast<double>(std::max<int64_t>(device.block, 4));
    work.terms.push_back(
        {"scalar", operations * 2 * lanes / device.flops_per_s * 1e6 / (loop.scalar_threads ? threads : 1)});
  }
  work.place = {log_of(elements), log_of(span)};
  return work;
}

}  // namespace ridge::predict
