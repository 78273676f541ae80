// L10: copies between host and device, with pageable or pinned memory.
#include <fmt/format.h>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

enum PinnedBuffer : size_t { kAnyIn, kPinnedIn, kOnDevice, kAnyOut, kPinnedOut };

Variant one_copy(std::string name, PinnedBuffer from, PinnedBuffer to) {
  Variant variant;
  variant.name = std::move(name);
  variant.steps = {{gpu::Copy{{from}, {to}}}};
  variant.output = to;
  return variant;
}

}  // namespace

std::vector<Case> pinned_cases(const Target& target) {
  if (target.family == Family::kNative) return {};  // the CPU's memory is its own
  Case work;
  size_t count = target.small ? 4096 : 16 << 20;
  work.title = fmt::format("{} copied", size_text(count));
  work.fill = [count](Case& one) {
    const std::vector<float> content = random_values(count, 61), nothing(count);
    one.buffers = {content, content, content, nothing, nothing};
  };
  work.memory = {gpu::MemoryKind::kHost, gpu::MemoryKind::kPinned, gpu::MemoryKind::kDevice, gpu::MemoryKind::kHost,
                 gpu::MemoryKind::kPinned};
  work.expected = {[](const Buffers& in, size_t i) { return in[0][i]; }};
  work.bytes = static_cast<double>(count * sizeof(float));
  work.time_scope = TimeScope::kWhole;
  work.variants = {one_copy("from any memory to the device", kAnyIn, kOnDevice),
                   one_copy("from pinned memory to the device", kPinnedIn, kOnDevice),
                   one_copy("from the device to any memory", kOnDevice, kAnyOut),
                   one_copy("from the device to pinned memory", kOnDevice, kPinnedOut)};
  const char* because =
      "the device fetches pinned memory by itself; other memory passes through a pinned buffer of the driver's, copied "
      "once more";
  work.comparisons = {{"L10", 1, 0, because}, {"L10", 3, 2, because}};
  return {work};
}

}  // namespace ridge::lab::experiments
