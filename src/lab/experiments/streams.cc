// L11: copying in, computing and copying out, in sequence or in chunks on several queues.
#include <fmt/format.h>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr size_t kStreamParts = 8, kStreamThreads = 256;
enum StreamBuffer : size_t { kStreamIn, kPartIn, kPartOut, kStreamOut };

Variant in_parts(size_t count, int steps, size_t parts, size_t queues) {
  Variant variant;
  variant.name = queues == 1 ? "one queue" : fmt::format("{} queues", queues);
  variant.at = static_cast<double>(queues);
  size_t of_part = count / parts;
  for (size_t part = 0; part < parts; ++part) {
    size_t queue = part % queues, first = part * of_part;
    variant.steps.push_back({gpu::Copy{{kStreamIn}, {kPartIn}, first, of_part}, queue});
    variant.steps.push_back({launch_per_element("iterate", of_part, kStreamThreads,
                                                {gpu::BufferNumber{kPartIn}, gpu::BufferNumber{kPartOut},
                                                 static_cast<int32_t>(first), steps}),
                             queue});
    variant.steps.push_back({gpu::Copy{{kPartOut}, {kStreamOut}, first, of_part}, queue});
  }
  return variant;
}

}  // namespace

std::vector<Case> streams_cases(const Target& target) {
  if (target.family == Family::kNative) return {};
  Case work;
  // A GPU computes about as long as it copies: 6000 operations per float at 40 TFLOP/s, 4 bytes at 27 GB/s.
  const int steps = target.small ? 4 : target.cpu ? 16 : 3000;
  size_t count = target.small ? kStreamParts * kStreamThreads : 16 << 20;
  work.title =
      fmt::format("{} copied in, {} steps each, copied out, in {} parts", size_text(count), steps, kStreamParts);
  work.kernels = "streams";
  work.parameter = "queues";
  read_and_write(work, count, count, 67, 3);
  work.memory = {gpu::MemoryKind::kPinned, gpu::MemoryKind::kDevice, gpu::MemoryKind::kDevice,
                 gpu::MemoryKind::kPinned};
  work.expected = {[steps](const Buffers& in, size_t i) {
    return after_steps(in[kStreamIn][i], steps, 0.75, 0.125);  // as kernels/streams.cu
  }};
  work.tolerance = 1e-6;
  work.time_scope = TimeScope::kWhole;
  for (size_t queues : {1, 2, 4}) work.variants.push_back(in_parts(count, steps, kStreamParts, queues));
  for (size_t several : {1, 2})
    work.comparisons.push_back({"L11", several, 0,
                                "in one queue copies and kernels take turns; in several, one part is copied in while "
                                "another is computed and a third "
                                "copied out, three times as fast at best"});
  return {work};
}

}  // namespace ridge::lab::experiments
