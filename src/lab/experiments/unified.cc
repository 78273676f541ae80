// L01: memory under one address for host and device, against device memory with copies.
#include <fmt/format.h>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

enum UnifiedBuffer : size_t { kFromHost, kOwnIn, kOwnOut, kSharedIn, kSharedOut, kToHost };
constexpr float kUnifiedScale = 1.5F, kUnifiedAdd = -0.25F;

Case unified_case(size_t count, std::string how) {
  Case work;
  work.title = fmt::format("{} scaled, {}", size_text(count), how);
  work.kernels = "block_size";
  work.fill = [count](Case& one) {
    const std::vector<float> content = random_values(count, 73), nothing(count);
    one.buffers = {content, content, nothing, content, nothing, nothing};
  };
  using gpu::MemoryKind;
  work.memory = {MemoryKind::kPinned,  MemoryKind::kDevice,  MemoryKind::kDevice,
                 MemoryKind::kUnified, MemoryKind::kUnified, MemoryKind::kPinned};
  work.expected = {[](const Buffers& in, size_t i) { return double{in[kFromHost][i]} * kUnifiedScale + kUnifiedAdd; }};
  work.tolerance = 1e-6;
  work.bytes = 2.0 * static_cast<double>(count * sizeof(float));
  return work;
}

gpu::Step scaled(size_t count, UnifiedBuffer in, UnifiedBuffer out) {
  return {launch_per_element("scale", count, 256,
                             {gpu::BufferNumber{in}, gpu::BufferNumber{out}, kUnifiedScale, kUnifiedAdd})};
}

Variant of_steps(std::string name, UnifiedBuffer output, std::vector<gpu::Step> steps) {
  Variant variant;
  variant.name = std::move(name);
  variant.output = output;
  variant.steps = std::move(steps);
  return variant;
}

// The kernel alone, on memory that is already local.
Case resident(size_t count) {
  Case work = unified_case(count, "kernel alone");
  work.variants = {of_steps("device's own memory", kOwnOut, {scaled(count, kOwnIn, kOwnOut)}),
                   of_steps("unified memory", kSharedOut, {scaled(count, kSharedIn, kSharedOut)})};
  work.comparisons = {{"L01", 1, 0, "after the first run its pages lie on the device, and nothing moves any more"}};
  return work;
}

// Copies from host memory and back.
Case round_trip(size_t count) {
  Case work = unified_case(count, "from host to host");
  work.time_scope = TimeScope::kWhole;
  const gpu::Step put{gpu::Copy{{kFromHost}, {kSharedIn}}}, get{gpu::Copy{{kSharedOut}, {kToHost}}};
  const gpu::Step scale_shared = scaled(count, kSharedIn, kSharedOut);
  work.variants = {
      of_steps("copies", kToHost,
               {{gpu::Copy{{kFromHost}, {kOwnIn}}}, scaled(count, kOwnIn, kOwnOut), {gpu::Copy{{kOwnOut}, {kToHost}}}}),
      of_steps("unified memory", kToHost, {put, scale_shared, get}),
      of_steps("unified memory, moved ahead", kToHost,
               {put,
                {gpu::Prefetch{{kSharedIn}, true}},
                {gpu::Prefetch{{kSharedOut}, true}},
                scale_shared,
                {gpu::Prefetch{{kSharedOut}, false}},
                get})};
  work.comparisons = {
      {"L01", 1, 0, "pages move when they are touched, each after a fault; and the host writes and reads them besides"},
      {"L01", 2, 0,
       "moved ahead, pages go in large pieces without faults; the host still writes and reads them besides"}};
  return work;
}

}  // namespace

std::vector<Case> unified_cases(const Target& target) {
  if (target.family == Family::kNative || !target.unified_memory) return {};
  size_t count = target.small ? 4096 : 16 << 20;
  return {resident(count), round_trip(count)};
}

}  // namespace ridge::lab::experiments
