// Every other kernel: its elements, contiguous stretches without a lookup, bytes per level.
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

// The stretch between two lookups of an index.
double span_of(const Kernel& kernel) {
  const Shape *in = known_shape(kernel.inputs, 0), *out = known_shape(kernel.outputs, 0);
  if (in == nullptr || out == nullptr) return 1;
  if (kernel.op == "Transpose") return kept_span(*in, attribute_or(kernel, "perm", Shape()));
  if (kernel.op == "Concat") return along_axis(kernel, *in, 0);
  if (kernel.op == "Split") return along_axis(kernel, *out, 0);
  if (kernel.op == "Softmax" || kernel.op == "LogSoftmax") return along_axis(kernel, *in, -1);
  if (kernel.op == "Gather") return in->empty() ? 1 : product(*in, 1);
  if (kernel.op.ends_with("Normalization") || kernel.op == "Slice")
    return out->empty() ? 1 : static_cast<double>(out->back());
  if (kernel.op.find("Pool") != std::string::npos || kernel.op.starts_with("Reorder"))
    return out->size() == 4 ? static_cast<double>(std::max<int64_t>((*out)[3], 1)) : 1;
  double span = product(*out, 0);
  for (const cost::Operand& operand : kernel.inputs)
    if (operand.present && operand.shape) span = std::min(span, broadcast_span(*out, *operand.shape));
  return std::max(span, 1.0);
}

bool is_arithmetic(const Kernel& kernel) {
  return !kernel.outputs.empty() &&
         (kernel.op == "Add" || kernel.op == "Sub" || kernel.op == "Mul" || kernel.op == "Div");
}

// Kernels of one operator with different loops: " spread" where one operand is broadcast in stretches.
std::string kind_of(const Kernel& kernel, double span) {
  std::string kind = kernel.domain == model::kBlocked ? "blocked " + kernel.op : kernel.op;
  // Without mean and offset, otherwise the same loop.
  if (kernel.op == "SimplifiedLayerNormalization" || kernel.op == "RMSNormalization") kind = "LayerNormalization";
  if (kernel.op == "Transpose" && span <= 1) kind += " last";
  if (is_arithmetic(kernel) && span < operand_elements(kernel.outputs[0])) kind += " spread";
  if (kernel.op == "MaxPool" || kernel.op == "AveragePool") {
    const Shape strides = attribute_or(kernel, "strides", Shape());
    if (!strides.empty() && strides.back() == 1) kind += " dense";
  }
  return kind;
}

double window(const Kernel& kernel) {
  double taps = 1;
  for (int64_t size : attribute_or(kernel, "kernel_shape", Shape())) taps *= static_cast<double>(size);
  return taps;
}

// Operations of scalar loops with branches and address computations, which vectors do not speed up. Per pair of boxes 14, per
// bilinear sample 8 (docs/methods.md); for indices from profiles of an AMD EPYC (ONNX Runtime 1.31.1: 12 ns per element that
// NonZero visits, 6 per element scattered, 8 per slice gathered).
double scalar_operations(const Kernel& kernel) {
  const double out = kernel.outputs.empty() ? 0 : operand_elements(kernel.outputs[0]);
  auto in = [&](size_t i) { return i < kernel.inputs.size() ? operand_elements(kernel.inputs[i]) : 0; };
  if (kernel.op == "RoiAlign") {
    const auto ratio = static_cast<double>(std::max<int64_t>(attribute_or<int64_t>(kernel, "sampling_ratio", 0), 0));
    return 8 * out * (ratio > 0 ? ratio * ratio : 4);
  }
  if (kernel.op == "NonZero") return 24 * in(0);
  if (kernel.op == "ScatterElements") return 12 * in(2);
  if (kernel.op == "GatherND") return 16 * in(1);
  if (kernel.op != "NonMaxSuppression") return 0;
  const Shape* scores = known_shape(kernel.inputs, 1);
  if (scores == nullptr || scores->size() != 3 || (*scores)[2] < 1) return 0;
  // Each box meets those kept so far. Without a limit in the file, a tenth is assumed to be kept.
  const auto boxes = static_cast<double>((*scores)[2]);
  double kept = 0.1 * boxes;
  if (kernel.inputs.size() > 2 && kernel.inputs[2].values && !kernel.inputs[2].values->empty())
    if (const auto limit = static_cast<double>(kernel.inputs[2].values->front()); limit < boxes) kept = limit;
  return 14 * in(1) * kept / 2;
}

}  // namespace

KernelWork other_work(const Kernel& kernel, const KernelDevice& device) {
  const bool reads_all = !kernel.op.starts_with("Gather") && kernel.op != "Slice";
  const double written = most_elements(kernel.outputs);
  const double elements = reads_all ? std::max(written, most_elements(kernel.inputs)) : written;
  double moved = 0;
  for (const cost::Operand& operand : kernel.outputs) moved += operand_bytes(operand);
  if (reads_all)
    for (const cost::Operand& operand : kernel.inputs) moved += operand_bytes(operand);
  else
    moved *= 2;
  const double span = span_of(kernel), threads = device.threads;
  KernelWork work;
  work.kind = kind_of(kernel, span);
  if (is_view(kernel)) return work;
  work.terms.push_back({"elements", elements * 1e-3 / threads});
  work.terms.push_back({"spans", elements / std::max(span, 1.0) * 1e-2 / threads});
  if (const double taps = window(kernel); taps > 1) work.terms.push_back({"taps", written * taps * 1e-4 / threads});
  work.terms.push_back({"near", us_of(moved, device.near_bytes_per_s) / threads});
  work.terms.push_back({"far", us_of(moved * share_beyond(moved, device.near_capacity_bytes * kUsableNear),
                                     device.far_shared_bytes_per_s)});
  work.terms.push_back(
      {"memory", us_of(moved * share_beyond(moved, device.far_capacity_bytes * kUsableFar), device.dram_bytes_per_s)});
  // Two a cycle; flops_per_s assumes two multiply-adds of whole vectors a cycle.
  if (const double operations = scalar_operations(kernel); operations > 0) {
    const double lanes = static_cast<double>(std::max<int64_t>(device.block, 4));
    const bool alone = kernel.op != "RoiAlign";  // the others use one thread
    work.terms.push_back({"scalar", operations * 2 * lanes / device.flops_per_s * 1e6 / (alone ? 1 : threads)});
  }
  work.place = {log_of(elements), log_of(span)};
  return work;
}

}  // namespace ridge::predict
