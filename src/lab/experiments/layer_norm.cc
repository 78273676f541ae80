// L13: LayerNorm and Sigmoid, in sequence or fused.
#include <fmt/format.h>

#include <cmath>

#include "lab/experiments/all.h"
#include "lab/experiments/layer_norm_native.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr size_t kRowThreads = 256;  // as in kernels/layer_norm.cu
enum LayerNormBuffer : size_t { kIn, kScale, kShift, kMoments, kBetween, kOut };

std::vector<float> sigmoid_of_layer_norm(const Case& work, size_t rows, size_t columns) {
  std::vector<float> out(rows * columns);
  for (size_t row = 0; row < rows; ++row) {
    const float* in = work.buffers[kIn].data() + row * columns;
    double mean = 0, variance = 0;
    for (size_t i = 0; i < columns; ++i) mean += in[i] / static_cast<double>(columns);
    for (size_t i = 0; i < columns; ++i) variance += (in[i] - mean) * (in[i] - mean) / static_cast<double>(columns);
    for (size_t i = 0; i < columns; ++i) {
      double normal = (in[i] - mean) / std::sqrt(variance + kLayerNormEpsilon);
      double value = normal * work.buffers[kScale][i] + work.buffers[kShift][i];
      out[row * columns + i] = static_cast<float>(1 / (1 + std::exp(-value)));
    }
  }
  return out;
}

std::vector<Variant> layer_norm_kernels(size_t rows, size_t columns) {
  auto buffer = [](LayerNormBuffer number) { return gpu::BufferNumber{number}; };
  auto width = static_cast<int32_t>(columns);
  auto launch = [&](const char* kernel, std::vector<gpu::Argument> arguments) {
    return gpu::Launch{kernel, {rows}, {kRowThreads}, std::move(arguments)};
  };
  Variant apart, fused;
  apart.name = "three kernels";
  apart.launches = {
      launch("row_moments", {buffer(kIn), buffer(kMoments), width}),
      launch("normalise", {buffer(kIn), buffer(kMoments), buffer(kScale), buffer(kShift), buffer(kBetween), width}),
      launch("sigmoid", {buffer(kBetween), buffer(kOut), width})};
  fused.name = "fused";
  fused.launches = {launch("layer_norm_sigmoid", {buffer(kIn), buffer(kScale), buffer(kShift), buffer(kOut), width})};
  return {apart, fused};
}

LayerNormWork native_work(NativeBuffers buffers, size_t rows, size_t columns) {
  return {buffers[kIn].data(),
          buffers[kScale].data(),
          buffers[kShift].data(),
          buffers[kMoments].data(),
          buffers[kBetween].data(),
          buffers[kOut].data(),
          rows,
          columns};
}

std::vector<Variant> layer_norm_functions(size_t rows, size_t columns) {
  Variant apart, fused;
  apart.name = "three loops";
  apart.native = [=](NativeBuffers buffers) {
    LayerNormWork work = native_work(buffers, rows, columns);
    layer_norm_loops().moments(work);
    layer_norm_loops().normalise(work);
    layer_norm_loops().sigmoid(work);
  };
  fused.name = "fused";
  fused.native = [=](NativeBuffers buffers) { layer_norm_loops().fused(native_work(buffers, rows, columns)); };
  return {apart, fused};
}

}  // namespace

std::vector<Case> layer_norm_cases(const Target& target) {
  Case work;
  size_t rows = target.small ? 3 : 8192, columns = target.small ? 512 : 1024;
  work.title = fmt::format("{} rows of {} floats", rows, columns);
  work.kernels = "layer_norm";
  work.fill = [=](Case& one) {
    one.buffers = {random_values(rows * columns, 37),  random_values(columns, 41),
                   random_values(columns, 43),         std::vector<float>(2 * rows),
                   std::vector<float>(rows * columns), std::vector<float>(rows * columns)};
    one.expected = {reference_of(sigmoid_of_layer_norm(one, rows, columns))};
  };
  work.output = kOut;
  work.tolerance = 1e-5;
  work.bytes = 2.0 * static_cast<double>(rows * columns * sizeof(float));
  work.variants =
      target.family == Family::kKernels ? layer_norm_kernels(rows, columns) : layer_norm_functions(rows, columns);
  work.comparisons = {{"L13", 1, 0, "apart, memory is read three times and written twice; fused, once each"}};
  return {work};
}

}  // namespace ridge::lab::experiments
