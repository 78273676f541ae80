// L17: the share of the memory bandwidth that a simple loop reaches.
#include <fmt/format.h>

#include <algorithm>

#include "lab/experiments/all.h"
#include "lab/workload.h"
#include "limits/memory_kernels.h"
#include "machine/isa.h"

namespace ridge::lab::experiments {
namespace {

enum ShareBuffer : size_t { kShareFirst, kShareSecond, kShareResult, kShareSums };
constexpr float kFactorOfTriad = 0.5F;
constexpr size_t kSumThreads = 256, kFloatsPerSum = 64;  // as in kernels/memory_share.cu

// Read only: among the loops that measure this CPU's memory for `ridge bench device`, the one with the widest loads.
// Nothing moves more.
Variant reading_alone(size_t count) {
  const limits::MemoryKernel* widest = nullptr;
  for (const limits::MemoryKernel* kernel : limits::memory_kernels_for(machine::this_isa()))
    if (kernel->traffic == limits::Traffic::kRead) widest = kernel;
  size_t size = count * sizeof(float) / limits::kWorkingSetStep * limits::kWorkingSetStep;
  Variant variant;
  variant.name = "reading alone";
  variant.limit = true;
  variant.work = static_cast<double>(size);
  if (widest == nullptr) return variant;  // none for this architecture
  variant.native = [run = widest->run, size](NativeBuffers buffers) {
    run(reinterpret_cast<std::byte*>(buffers[kShareFirst].data()), size, 1);
  };
  return variant;
}

void copy_loop(NativeBuffers buffers) {
  std::copy(buffers[kShareFirst].begin(), buffers[kShareFirst].end(), buffers[kShareResult].begin());
}

void triad_loop(NativeBuffers buffers) {
  const float *first = buffers[kShareFirst].data(), *second = buffers[kShareSecond].data();
  float* result = buffers[kShareResult].data();
  for (size_t i = 0; i < buffers[kShareResult].size(); ++i) result[i] = first[i] + kFactorOfTriad * second[i];
}

void add_share_loops(Case& work, size_t count) {
  Variant copy, triad, alone = reading_alone(count);
  copy.name = "copy";
  copy.native = copy_loop;
  triad.name = "triad";
  triad.native = triad_loop;
  work.variants = {copy, triad};
  if (!alone.native) return;  // not on this architecture
  work.variants.push_back(alone);
}

void add_share_kernels(Case& work, size_t count) {
  auto buffer = [](ShareBuffer number) { return gpu::BufferNumber{number}; };
  Variant copy, triad, alone;
  copy.name = "copy";
  copy.launches = {launch_per_element("copy_all", count / 4, 256, {buffer(kShareFirst), buffer(kShareResult)})};
  triad.name = "triad";
  triad.launches = {launch_per_element(
      "triad", count / 4, 256, {buffer(kShareFirst), buffer(kShareSecond), buffer(kShareResult), kFactorOfTriad})};
  alone.name = "reading alone";
  alone.launches = {
      launch_per_element("read_all", count / kFloatsPerSum, kSumThreads, {buffer(kShareFirst), buffer(kShareSums)})};
  alone.work = static_cast<double>(count * sizeof(float));
  alone.output = kShareSums;
  alone.expected = 2;
  work.variants = {copy, triad, alone};
}

// Groups have 256 threads: thread t of a group adds float4 number t, t + 256, …
double sum_of_thread(const Buffers& in, size_t thread) {
  const size_t first = thread / kSumThreads * kSumThreads * kFloatsPerSum + thread % kSumThreads * 4;
  double sum = 0;
  for (size_t at = 0; at < kFloatsPerSum / 4; ++at)
    for (size_t j = 0; j < 4; ++j) sum += in[kShareFirst][first + at * kSumThreads * 4 + j];
  return sum;
}

}  // namespace

std::vector<Case> memory_share_cases(const Target& target) {
  // OpenCL's loops on a CPU read slower than they copy (pocl 3.1: copies reached 134 %): no limit there.
  if (target.family == Family::kKernels && target.cpu && !target.small) return {};
  Case work;
  size_t count = floats_beyond_caches(target);
  work.title = fmt::format("{} read or written", size_text(count));
  work.kernels = "memory_share";
  work.fill = [count](Case& one) {
    one.buffers = {random_values(count, 89), random_values(count, 97), std::vector<float>(count),
                   std::vector<float>(count / kFloatsPerSum)};
  };
  work.output = kShareResult;
  work.tolerance = 1e-5;
  work.expected = {
      [](const Buffers& in, size_t i) { return in[kShareFirst][i]; },
      [](const Buffers& in, size_t i) { return in[kShareFirst][i] + kFactorOfTriad * in[kShareSecond][i]; },
      sum_of_thread};
  work.bytes = 2.0 * static_cast<double>(count * sizeof(float));
  if (target.family == Family::kKernels)
    add_share_kernels(work, count);
  else
    add_share_loops(work, count);
  work.variants[1].expected = 1;
  work.variants[1].work = 1.5 * work.bytes;
  if (work.variants.size() < 3) return {};
  work.comparisons = {
      {"L17", 0, 2, "of what reading alone reaches; the bytes that the copy itself reads and writes are counted"},
      {"L17", 1, 2, "of what reading alone reaches; two arrays read and one written are counted"}};
  return {work};
}

}  // namespace ridge::lab::experiments
