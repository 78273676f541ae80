#include "limits/accelerator/multiply_adds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limits/accelerator/kernels.h"

namespace ridge::limits::accelerator {
namespace {

constexpr int64_t kChains = 12, kStepsPerRound = 8;
constexpr int64_t kMostSteps = (int64_t{1} << 24) - 256;  // floats count exactly up to here

// The largest count of a type: its fraction bits and the hidden one (IEEE 754-2019, table 3.5; BF16: 7 + 1).
double largest_count(Precision precision) {
  switch (precision) {
    case Precision::kFp64: return std::ldexp(1.0, 53);
    case Precision::kFp16: return std::ldexp(1.0, 11);
    case Precision::kBf16: return std::ldexp(1.0, 8);
    default: return std::ldexp(1.0, 24);
  }
}

double count_of_chain(Precision precision, int64_t first, int64_t steps) {
  if (precision == Precision::kInt8 && steps > 0)  // x → signed low byte of x, and 1
    return static_cast<double>(static_cast<int8_t>(static_cast<uint8_t>((first + steps - 1) & 0xFF))) + 1;
  return std::min(static_cast<double>(first + steps), largest_count(precision));
}

CountingKernel counting_of(const gpu::DeviceFacts& facts, const LaneType& type, const Layout& layout) {
  const Precision precision = type.precision;
  CountingKernel counting;
  counting.what = fmt::format("{} chains of {} {}", kChains, type.lanes, precision_name(precision));
  counting.kernel = "multiply_adds";
  counting.further = {1.0F, 1.0F};
  counting.layout = layout;
  counting.lanes = type.lanes;
  counting.steps_per_round = kStepsPerRound;
  counting.most_steps = kMostSteps;
  counting.flops_per_step = flops_of_step(layout, type.flops_per_step);
  counting.expected = [precision](int64_t thread, int64_t steps) { return expected_count(precision, thread, steps); };
  // Types of 8 or 11 bits are rounded where the sum of the chains exceeds their exact range.
  const bool narrow = precision == Precision::kFp16 || precision == Precision::kBf16;
  counting.tolerance = narrow ? 0.02 : 0;
  counting.counts_cycles = facts.dialect == gpu::Dialect::kCuda;
  return counting;
}

LaneType lane_type_of(const gpu::DeviceFacts& facts, Precision precision, const char* name, int64_t lanes,
                      std::string reason) {
  LaneType result;
  result.precision = precision;
  result.lanes = std::max<int64_t>(1, lanes);
  result.flops_per_step = (precision == Precision::kInt8 ? 8.0 : 2.0) * static_cast<double>(result.lanes);
  result.definitions = fmt::format("#define {}\n", name);
  if (facts.dialect == gpu::Dialect::kOpenCl) result.definitions += fmt::format("#define LANES {}\n", result.lanes);
  result.reason = std::move(reason);
  return result;
}

}  // namespace

std::vector<LaneType> lane_types(const gpu::DeviceFacts& facts) {
  const bool cuda = facts.dialect == gpu::Dialect::kCuda;
  std::vector<LaneType> result;
  auto add = [&](Precision precision, const char* name, int64_t lanes, bool there, const char* missing) {
    result.push_back(lane_type_of(facts, precision, name, lanes, there ? "" : missing));
  };
  add(Precision::kFp64, "FP64", facts.fp64_lanes, facts.fp64_lanes > 0,
      "the device does not compute in double precision");
  add(Precision::kFp32, "FP32", facts.fp32_lanes, facts.fp32_lanes > 0,
      "the device does not compute in single precision");
  add(Precision::kFp16, "FP16", cuda ? 2 : facts.fp16_lanes, facts.fp16_lanes > 0,
      cuda ? "no packed half precision before compute capability 5.3" : "the device has no cl_khr_fp16");
  if (cuda) add(Precision::kBf16, "BF16", 2, facts.bf16, "no packed bfloat16 before compute capability 8.0");
  add(Precision::kInt8, "INT8", 1, facts.integer_dot,
      cuda ? "no DP4A before compute capability 6.1" : "the device has no cl_khr_integer_dot_product");
  return result;
}

double expected_count(Precision precision, int64_t thread, int64_t steps) {
  const int64_t first = thread & 7;
  const double begin = count_of_chain(precision, first, steps);
  double total = begin;
  for (int64_t chain = 0; chain < kChains; ++chain) total += count_of_chain(precision, first + chain, steps) - begin;
  return total;
}

double flops_of_step(const Layout& layout, double flops_per_step) {
  return static_cast<double>(layout.threads * layout.blocks) * static_cast<double>(kChains) * flops_per_step;
}

std::vector<MetricOf<PeakRow>> multiply_add_metrics(const gpu::Device& device) {
  std::vector<MetricOf<PeakRow>> metrics;
  for (const LaneType& type : lane_types(device.facts)) {
    MetricOf<PeakRow> peak{{type.precision, "multiply-adds", {}}, {}};
    const Status added =
        type.reason.empty()
            ? add_counting_variants(
                  device, kernel_source(type.definitions, {"arithmetic", "multiply_adds"}),
                  [&](const Layout& layout) { return counting_of(device.facts, type, layout); }, peak.metric)
            : Status(Error{Code::kUnsupported, type.reason});
    if (!added) peak.metric.reason = added.error().message;
    metrics.push_back(std::move(peak));
  }
  return metrics;
}

}  // namespace ridge::limits::accelerator
