// L05: one, two or four floats per load and store of a thread; on the CPU 4 to 64 bytes.
#include <fmt/format.h>

#include "lab/experiments/all.h"
#include "lab/experiments/copy.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

void add_kernels(Case& work, size_t count) {
  for (size_t width : {size_t{1}, size_t{2}, size_t{4}}) {
    Variant variant;
    std::string type = width == 1 ? "float" : fmt::format("float{}", width);
    variant.name = type;
    variant.at = static_cast<double>(width * sizeof(float));
    variant.launches = {
        launch_per_element("copy_" + type, count / width, 256, {gpu::BufferNumber{0}, gpu::BufferNumber{1}})};
    work.variants.push_back(std::move(variant));
  }
}

void add_loops(Case& work) {
  for (const CopyOfWidth& copy : copies()) {
    Variant variant;
    variant.name = fmt::format("{} bytes", copy.bytes);
    variant.at = static_cast<double>(copy.bytes);
    variant.native = [run = copy.copy](NativeBuffers buffers) {
      run(buffers[0].data(), buffers[1].data(), buffers[1].size());
    };
    work.variants.push_back(std::move(variant));
  }
}

Case copied_by_width(const Target& target, size_t count, std::string where) {
  Case work;
  work.title = fmt::format("{} copied {}", size_text(count), where);
  work.kernels = "vector_loads";
  work.parameter = "bytes per load";
  read_and_write(work, count, count, 5);
  work.expected = {[](const Buffers& in, size_t i) { return in[0][i]; }};
  if (target.family == Family::kKernels)
    add_kernels(work, count);
  else
    add_loops(work);
  for (size_t i = 1; i < work.variants.size(); ++i)
    work.comparisons.push_back({"L05", i, 0,
                                fmt::format("{} instead of {} per load: fewer instructions for the same bytes",
                                            work.variants[i].name, work.variants[0].name)});
  return work;
}

}  // namespace

std::vector<Case> vector_loads_cases(const Target& target) {
  std::vector<Case> cases;
  cases.push_back(copied_by_width(target, floats_beyond_caches(target), "in memory"));
  if (target.family == Family::kNative) cases.push_back(copied_by_width(target, 2048, "in the first cache"));
  return cases;
}

}  // namespace ridge::lab::experiments
