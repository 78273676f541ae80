// L03: loads from the start of a line, or across two lines.
#include <fmt/format.h>

#include "lab/experiments/all.h"
#include "lab/experiments/copy.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr size_t kMargin = 32;  // floats behind the array, for reads from an offset

Case aligned_copy(const Target& target, size_t count, std::string where) {
  Case work;
  work.title = fmt::format("{} copied {}", size_text(count), where);
  work.kernels = "alignment";
  read_and_write(work, count + kMargin, count, 3);
  work.bytes = 2.0 * static_cast<double>(count * sizeof(float));
  for (size_t offset : {size_t{0}, size_t{1}}) {
    Variant variant;
    variant.name = offset == 0 ? "aligned" : fmt::format("misaligned by {} bytes", offset * sizeof(float));
    if (target.family == Family::kKernels)
      variant.launches = {launch_per_element(
          "copy_from", count, 256, {gpu::BufferNumber{0}, gpu::BufferNumber{1}, static_cast<int32_t>(offset)})};
    else
      variant.native = [offset](NativeBuffers buffers) {
        widest_copy()(buffers[0].data() + offset, buffers[1].data(), buffers[1].size());
      };
    variant.expected = offset == 0 ? 0 : 1;
    work.expected.emplace_back([offset](const Buffers& in, size_t i) { return in[0][i + offset]; });
    work.variants.push_back(std::move(variant));
  }
  work.comparisons = {{"L03", 0, 1,
                       target.family == Family::kKernels
                           ? "32 threads that read 128 bytes from an offset touch one line more than they need"
                           : fmt::format("of loads of {} bytes from an offset, {} in 16 lie across two lines",
                                         widest_copy_bytes(), widest_copy_bytes() / 4)}};
  return work;
}

}  // namespace

std::vector<Case> alignment_cases(const Target& target) {
  std::vector<Case> cases;
  cases.push_back(aligned_copy(target, floats_beyond_caches(target), "in memory"));
  if (target.family == Family::kNative) cases.push_back(aligned_copy(target, 2048, "in the first cache"));
  return cases;
}

}  // namespace ridge::lab::experiments
