#include "predict/kernel_work.h"

#include <array>
#include <unordered_set>

#include "cost/operators.h"
#include "predict/kernel_work_parts.h"

namespace ridge::predict {
namespace {

cost::KernelFamily family_of(const Kernel& kernel) { return cost::operator_of(kernel.domain, kernel.op).kernel; }

// One value per dimension → one per row and column: a line is an image of one row, a volume one with its planes stacked (their
// values multiplied, which is exact for windows and near enough for strides).
Shape two_of(const Shape& values, int64_t line) {
  if (values.size() == 1) return {line, values[0]};
  return {values[0] * values[1], values[2]};
}

Shape image_shape(const Shape& shape) {
  const Shape image = two_of(Shape(shape.begin() + 2, shape.end()), 1);
  return {shape[0], shape[1], image[0], image[1]};
}

// A convolution over one or three dimensions as one over images: the engine computes them as multiplications of the same sizes
// (mlas/lib/convolve.cpp, MlasConvPrepare).
Kernel as_image(Kernel kernel) {
  const size_t dimensions = kernel.inputs[0].shape->size() - 2;
  if (dimensions == 2) return kernel;
  for (cost::Operand* operand : {&kernel.inputs[0], &kernel.inputs[1], &kernel.outputs[0]})
    operand->shape = image_shape(*operand->shape);
  for (const char* name : {"strides", "dilations", "kernel_shape"})
    if (const Shape values = attribute_or(kernel, name, Shape()); values.size() == dimensions)
      kernel.attributes[name] = two_of(values, 1);
  if (const Shape pads = attribute_or(kernel, "pads", Shape()); pads.size() == 2 * dimensions) {
    const int64_t first = dimensions == 1 ? 0 : pads[0] + pads[1], last = pads[dimensions - 1];
    kernel.attributes["pads"] = std::vector<int64_t>{first, last, first, last};
  }
  return kernel;
}

// Of one to three spatial dimensions, all sizes known.
bool is_image_convolution(const Kernel& kernel) {
  if (family_of(kernel) != cost::KernelFamily::kConvolution || kernel.inputs.size() < 2 || kernel.outputs.empty())
    return false;
  const std::optional<Shape>& x = kernel.inputs[0].shape;
  for (const cost::Operand* operand : {&kernel.inputs[0], &kernel.inputs[1], &kernel.outputs[0]}) {
    if (!operand->shape || operand->shape->size() != x->size() || x->size() < 3 || x->size() > 5) return false;
    if (std::any_of(operand->shape->begin(), operand->shape->end(), [](int64_t size) { return size < 0; }))
      return false;
  }
  return true;
}

double bandwidth(const cost::DeviceLimits& limits, size_t from_end) {
  for (size_t i = limits.levels.size(); i-- > 0;) {
    if (limits.levels[i].bytes_per_s <= 0) continue;
    if (from_end == 0) return limits.levels[i].bytes_per_s;
    --from_end;
  }
  return 0;
}

double rate_or(double rate, double otherwise) { return rate > 0 ? rate : otherwise; }

const cost::DeviceLimits::Level* level(const cost::DeviceLimits& limits, std::string_view name) {
  for (const cost::DeviceLimits::Level& level : limits.levels)
    if (level.name == name) return &level;
  return nullptr;
}

}  // namespace

KernelDevice kernel_device(const cost::DeviceLimits& one, const cost::DeviceLimits& all, int64_t block) {
  KernelDevice device;
  device.threads = std::max(all.threads, 1);
  device.block = block;
  device.flops_per_s = rate_or(cost::rate_of(all, Precision::kFp32).flops_per_s / device.threads, device.flops_per_s);
  device.dram_bytes_per_s = rate_or(bandwidth(all, 0), device.dram_bytes_per_s);
  const cost::DeviceLimits::Level *near = level(one, "L2"), *far = level(one, "L3"), *shared = level(all, "L3");
  device.near_bytes_per_s = rate_or(near ? near->bytes_per_s : 0, rate_or(bandwidth(one, 1), device.dram_bytes_per_s));
  device.far_bytes_per_s = rate_or(far ? far->bytes_per_s : 0, device.near_bytes_per_s);
  device.far_shared_bytes_per_s = rate_or(shared ? shared->bytes_per_s : 0, device.far_bytes_per_s * device.threads);
  if (near && near->capacity_bytes > 0) device.near_capacity_bytes = near->capacity_bytes;
  device.far_capacity_bytes = far && far->capacity_bytes > 0 ? far->capacity_bytes : device.near_capacity_bytes;
  return device;
}

double product_slots(int64_t m, int64_t n, int64_t k, int64_t block) {
  const int64_t lanes = std::max<int64_t>(block, 4);
  const int64_t rows = lanes >= 16 ? 12 : 6;  // mlas/lib/x86_64: SgemmKernelAvx512F.S, SgemmKernelFma3.S
  double per_column = static_cast<double>(m / rows) * tile_slots(2, static_cast<double>(rows));
  for (int64_t rest = m % rows; rest > 0; rest -= std::min<int64_t>(rest, 6))
    per_column += tile_slots(2, static_cast<double>(std::min<int64_t>(rest, 6)));
  return per_column * static_cast<double>(ceiling(n, 2 * lanes) * k);
}

bool is_view(const Kernel& kernel) {
  return cost::operator_of(kernel.domain, kernel.op).values == cost::Values::kSameValues;
}

double footprint_of(const std::vector<Kernel>& kernels) {
  double weights = 0, most = 0;
  for (const Kernel& kernel : kernels) {
    double live = 0;
    for (const cost::Operand& operand : kernel.inputs) (operand.weight ? weights : live) += operand_bytes(operand);
    for (const cost::Operand& operand : kernel.outputs) live += operand_bytes(operand);
    most = std::max(most, live);
  }
  return weights + most;
}

KernelWork work_of(const Kernel& kernel, const KernelDevice& device, double footprint_bytes) {
  if (is_image_convolution(kernel)) return convolution_work(as_image(kernel), device, footprint_bytes);
  if (family_of(kernel) == cost::KernelFamily::kMatMul && kernel.inputs.size() >= 2 && kernel.inputs[0].shape &&
      !kernel.outputs.empty() && kernel.outputs[0].shape && !kernel.outputs[0].shape->empty())
    return product_work(kernel, device, footprint_bytes);
  return other_work(kernel, device);
}

}  // namespace ridge::predict
