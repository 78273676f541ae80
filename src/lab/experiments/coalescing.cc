// L04: neighbouring threads read neighbouring addresses, or distant ones.
#include <fmt/format.h>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr size_t kStrides[] = {1, 2, 8, 32};
constexpr size_t kLineFloats = 16;  // of a cache line of 64 bytes; GPUs fetch 32 bytes at least

void read_with_stride_natively(NativeBuffers buffers, size_t stride) {
  const float* in = buffers[0].data();
  float* out = buffers[1].data();
  size_t rows = buffers[0].size() / stride;
  for (size_t column = 0; column < stride; ++column)
    for (size_t row = 0; row < rows; ++row) *out++ = in[row * stride + column];
}

Variant strided(const Target& target, size_t count, size_t stride) {
  Variant variant;
  variant.name = fmt::format("stride {}", stride);
  variant.at = static_cast<double>(stride);
  if (target.family == Family::kKernels)
    variant.launches = {launch_per_element(
        "read_with_stride", count, 256,
        {gpu::BufferNumber{0}, gpu::BufferNumber{1}, static_cast<int32_t>(count), static_cast<int32_t>(stride)})};
  else
    variant.native = [stride](NativeBuffers buffers) { read_with_stride_natively(buffers, stride); };
  return variant;
}

}  // namespace

std::vector<Case> coalescing_cases(const Target& target) {
  Case work;
  size_t count = floats_beyond_caches(target);
  work.title = fmt::format("each float of {} read once", size_text(count));
  work.kernels = "coalescing";
  work.parameter = "stride";
  read_and_write(work, count, count, 1);
  for (size_t stride : kStrides) {
    Variant variant = strided(target, count, stride);
    variant.expected = work.expected.size();
    work.expected.emplace_back(
        [stride, rows = count / stride](const Buffers& in, size_t i) { return in[0][i % rows * stride + i / rows]; });
    if (stride > 1)
      work.comparisons.push_back({"L04", 0, work.variants.size(),
                                  fmt::format("with stride {} only {} of the 64 bytes of a cache line are used", stride,
                                              std::max<size_t>(1, kLineFloats / stride) * sizeof(float))});
    work.variants.push_back(std::move(variant));
  }
  return {work};
}

}  // namespace ridge::lab::experiments
