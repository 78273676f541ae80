// L08: the same kernel with more or fewer registers per thread.
#include <fmt/format.h>

#include "lab/experiments/all.h"
#include "lab/workload.h"

namespace ridge::lab::experiments {
namespace {

constexpr size_t kPolynomialValues = 64, kPolynomialThreads = 256;  // as in kernels/registers.cu

double sum_of_polynomials(const Buffers& in, size_t i) {
  double sum = 0;
  for (size_t at = i; at < in[0].size(); at += in[0].size() / kPolynomialValues)
    sum += (in[0][at] * 0.25 - 0.5) * in[0][at] + 0.125;
  return sum;
}

}  // namespace

std::vector<Case> registers_cases(const Target& target) {
  if (target.family == Family::kNative) return {};  // a compiler gives one CPU thread all registers
  Case work;
  const size_t count = floats_beyond_caches(target), apart = count / kPolynomialValues;
  work.title = fmt::format("{} polynomials of {} values each", apart, kPolynomialValues);
  work.kernels = "registers";
  work.parameter = "values at a time";
  read_and_write(work, count, apart, 107);
  work.expected = {sum_of_polynomials};
  work.tolerance = 1e-5;
  for (auto [values, registers] : {std::pair(64, ""), std::pair(16, "31 to 43"), std::pair(4, "22 to 26")}) {
    Variant variant;
    variant.name = fmt::format("{} values at a time", values);
    variant.at = values;
    variant.launches = {launch_per_element(fmt::format("waits_for_{}", values), apart, kPolynomialThreads,
                                           {gpu::BufferNumber{0}, gpu::BufferNumber{1}, static_cast<int32_t>(apart)})};
    if (!work.variants.empty())
      work.comparisons.push_back(
          {"L08", work.variants.size(), 0,
           // Registers: of NVRTC 13.5, for sm_75 to sm_120.
           fmt::format(
               "a thread that waits for {} values takes {} registers instead of 72 to 80 (as CUDA compiles it), so "
               "that more threads are resident and wait beside each other",
               values, registers)});
    work.variants.push_back(std::move(variant));
  }
  return {work};
}

}  // namespace ridge::lab::experiments
