#include "limits/accelerator/gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "catalogue/capability.h"
#include "limits/accelerator/kernels.h"

namespace ridge::limits::accelerator {

struct GemmMemory {
  std::unique_ptr<gpu::Workspace> workspace;
  gpu::GemmBytes room;                                      // of the three
  std::optional<std::array<gpu::BufferNumber, 3>> buffers;  // a, b, d
  std::optional<Precision> filled;                          // contents of a and b

  // Random factors of that type in a and b.
  Status fill(Precision precision);
  Status fill(gpu::BufferNumber buffer, size_t bytes, const RandomBits& bits, int32_t seed);
};

namespace {

constexpr double kTile = 256 * 128;  // results that one multiprocessor computes at a time
constexpr int64_t kCubeStep = 256;   // sizes are multiples of it
constexpr int64_t kLargestValue = 8;

constexpr int64_t kLooks = 8;  // results that are recomputed

constexpr Precision kGemmPrecisions[] = {Precision::kFp64, Precision::kFp32, Precision::kTf32, Precision::kFp16,
                                         Precision::kBf16, Precision::kFp8,  Precision::kInt8};

gpu::GemmProblem cube_of(const gpu::DeviceFacts& facts, Precision precision, double waves) {
  const auto units = static_cast<double>(std::max<int64_t>(1, facts.compute_units));
  const int64_t size = std::llround(std::ceil(std::sqrt(units * kTile * waves) / kCubeStep)) * kCubeStep;
  return {precision, size, size, size, true, false};
}

// Server chips run at half the rate of FP32; others at 1/32 or 1/64 (data/compute_capability.csv).
bool computes_fp64_fast(const gpu::DeviceFacts& facts) {
  Result<std::vector<catalogue::Capability>> all = catalogue::capabilities();
  if (!all) return false;
  Result<catalogue::Capability> found = catalogue::find_capability(*all, facts.capability);
  return found && found->fp64_lanes && found->fp32_lanes && 2 * *found->fp64_lanes >= *found->fp32_lanes;
}

// Reads a sum: 16-bit results of narrow types, 32-bit integers of INT8.
double result_at(Precision precision, const std::vector<std::byte>& values) {
  if (precision == Precision::kInt8) {
    int32_t sum = 0;
    std::memcpy(&sum, values.data(), sizeof sum);
    return sum;
  }
  return value_at(precision == Precision::kFp8 ? Precision::kBf16 : precision, values, 0);
}

// A half as in IEEE 754-2019 (binary16), or any type with that many bits of exponent and fraction, without infinities.
double small_float(uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = static_cast<double>(bits & ((1U << fraction_bits) - 1)) / (1 << fraction_bits);
  const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return bits >> (exponent_bits + fraction_bits) ? -size : size;
}

// a is row-major, b column-major: k values are contiguous in both.
Result<double> expected_in(GemmMemory& memory, const gpu::GemmProblem& problem, int64_t row, int64_t column) {
  const size_t bytes = gpu::bytes(problem).a / static_cast<size_t>(problem.m);
  std::vector<std::byte> of_a(bytes), of_b(bytes);
  RIDGE_TRY(memory.workspace->read_bytes((*memory.buffers)[0], of_a, static_cast<size_t>(row) * bytes));
  RIDGE_TRY(memory.workspace->read_bytes((*memory.buffers)[1], of_b, static_cast<size_t>(column) * bytes));
  double sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(problem.k); ++i)
    sum += value_at(problem.precision, of_a, i) * value_at(problem.precision, of_b, i);
  return sum;
}

Result<double> result_in(GemmMemory& memory, const gpu::GemmProblem& problem, int64_t row, int64_t column) {
  std::vector<std::byte> value(gpu::bytes(problem).d / static_cast<size_t>(problem.m * problem.n));
  RIDGE_TRY(memory.workspace->read_bytes((*memory.buffers)[2], value,
                                         static_cast<size_t>(row * problem.n + column) * value.size()));
  return result_at(problem.precision, value);
}

Status check_results(GemmMemory& memory, const gpu::GemmProblem& problem) {
  const double tolerance = sum_tolerance(problem.precision, problem.k);
  for (int64_t look = 0; look < kLooks; ++look) {
    const int64_t row = look * (problem.m - 1) / (kLooks - 1),
                  column = (look * 5 % kLooks) * (problem.n - 1) / (kLooks - 1);
    RIDGE_ASSIGN(double should, expected_in(memory, problem, row, column));
    RIDGE_ASSIGN(double is, result_in(memory, problem, row, column));
    if (!(std::abs(is - should) <= tolerance))
      return Error{
          Code::kFailed,
          fmt::format("the library's {} multiplication of {} x {} x {} has {} instead of {} in row {}, column {}",
                      precision_name(problem.precision), problem.m, problem.n, problem.k, is, should, row, column)};
  }
  return {};
}

Result<Burst> multiply(GemmMemory& memory, const gpu::GemmProblem& problem, int64_t repeats) {
  RIDGE_TRY(memory.fill(problem.precision));
  const auto& [a, b, d] = *memory.buffers;
  const gpu::Step step{gpu::Gemm{a, b, d, problem}};
  RIDGE_ASSIGN(gpu::LaunchTime time, memory.workspace->run({&step, 1}, static_cast<int>(repeats)));
  return Burst{gpu::flops(problem) * static_cast<double>(repeats), time.device_seconds};
}

}  // namespace

Status GemmMemory::fill(gpu::BufferNumber buffer, size_t bytes, const RandomBits& bits, int32_t seed) {
  auto as_number = [](uint32_t word) { return std::bit_cast<int32_t>(word); };
  const gpu::Launch launch = {"random_bits",
                              {1024},
                              {256},
                              {buffer, static_cast<int32_t>(bytes / sizeof(uint32_t)), seed, as_number(bits.keep_even),
                               as_number(bits.set_even), as_number(bits.keep_odd), as_number(bits.set_odd)}};
  RIDGE_TRY(workspace->run({&launch, 1}));
  return {};
}

Status GemmMemory::fill(Precision precision) {
  if (!buffers) {
    RIDGE_ASSIGN(const gpu::BufferNumber a, workspace->add_bytes(room.a));
    RIDGE_ASSIGN(const gpu::BufferNumber b, workspace->add_bytes(room.b));
    RIDGE_ASSIGN(const gpu::BufferNumber d, workspace->add_bytes(room.d));
    buffers = {a, b, d};
  }
  if (filled == precision) return {};
  RIDGE_TRY(fill((*buffers)[0], room.a, random_bits_of(precision), 1));
  RIDGE_TRY(fill((*buffers)[1], room.b, random_bits_of(precision), 77));
  filled = precision;
  return {};
}

std::vector<gpu::GemmProblem> gemm_problems(const gpu::DeviceFacts& facts, Precision precision) {
  const bool slow = precision == Precision::kFp64 || precision == Precision::kFp32;
  if (precision == Precision::kFp64 && !computes_fp64_fast(facts)) return {cube_of(facts, precision, 1)};
  const int64_t most_bytes = 2 * facts.largest_buffer_bytes;  // a buffer may take a quarter of the free memory
  std::vector<gpu::GemmProblem> problems;
  for (double waves : slow ? std::array{1.0, 4.0, 16.0} : std::array{4.0, 16.0, 64.0}) {
    const gpu::GemmProblem problem = cube_of(facts, precision, waves);
    if (3 * problem.m * problem.n * kLargestValue <= most_bytes) problems.push_back(problem);
  }
  return problems;
}

Result<std::shared_ptr<GemmMemory>> open_gemm_memory(const gpu::Device& device) {
  auto memory = std::make_shared<GemmMemory>();
  RIDGE_ASSIGN(memory->workspace, gpu::workspace_with(device, kernel_source("", {"random_bits"})));
  return memory;
}

Result<KernelVariant> gemm_variant(const std::shared_ptr<GemmMemory>& memory, const gpu::GemmProblem& problem) {
  RIDGE_ASSIGN(const gpu::GemmPlan plan, memory->workspace->plan(problem));
  const gpu::GemmBytes needed = gpu::bytes(problem);
  for (auto part : {&gpu::GemmBytes::a, &gpu::GemmBytes::b, &gpu::GemmBytes::d})
    memory->room.*part = std::max(memory->room.*part, needed.*part);
  KernelVariant variant;
  variant.conditions = fmt::format("{}, {} x {} x {}", plan.library, problem.m, problem.n, problem.k);
  variant.run = one_by_one([memory, problem](int64_t repeats) { return multiply(*memory, problem, repeats); });
  variant.check = [memory, problem] { return check_results(*memory, problem); };
  variant.how = [memory, problem] {
    Result<gpu::GemmPlan> ran = memory->workspace->plan(problem);
    return ran ? fmt::format("algorithm {} of {}", ran->chosen + 1, ran->candidates) : ran.error().message;
  };
  variant.most_repeats = 1000;  // waiting in a queue
  return variant;
}

std::vector<MetricOf<PeakRow>> gemm_metrics(const gpu::Device& device) {
  std::vector<MetricOf<PeakRow>> metrics;
  if (device.facts.dialect != gpu::Dialect::kCuda) return metrics;  // OpenCL has no library of its own
  const Result<std::shared_ptr<GemmMemory>> memory = open_gemm_memory(device);
  for (Precision precision : kGemmPrecisions) {
    MetricOf<PeakRow> peak{{precision, "cuBLASLt", {}}, {}};
    peak.metric.reason =
        memory ? "the GPU has too little free memory for a multiplication that fills it" : memory.error().message;
    for (const gpu::GemmProblem& problem : gemm_problems(device.facts, precision)) {
      if (!memory) break;
      Result<KernelVariant> variant = gemm_variant(*memory, problem);
      if (variant)
        peak.metric.variants.push_back(std::move(*variant));
      else
        peak.metric.reason = variant.error().message;
    }
    metrics.push_back(std::move(peak));
  }
  return metrics;
}

RandomBits random_bits_of(Precision precision) {
  // Keeps sign and fraction, sets the exponent to that of 1/2 (IEEE 754-2019; BF16 and TF32 as binary32; E4M3:
  // Micikevicius et al., "FP8 Formats for Deep Learning", 2022, table 1).
  switch (precision) {
    case Precision::kFp64: return {0xFFFFFFFF, 0, 0x800FFFFF, 0x3FE00000};
    case Precision::kFp16: return {0x83FF83FF, 0x38003800, 0x83FF83FF, 0x38003800};
    case Precision::kBf16: return {0x807F807F, 0x3F003F00, 0x807F807F, 0x3F003F00};
    case Precision::kFp8: return {0x87878787, 0x30303030, 0x87878787, 0x30303030};
    case Precision::kInt8: return {0xFFFFFFFF, 0, 0xFFFFFFFF, 0};
    default: return {0x807FFFFF, 0x3F000000, 0x807FFFFF, 0x3F000000};
  }
}

double sum_tolerance(Precision precision, int64_t k) {
  if (precision == Precision::kInt8) return 0;
  return (precision == Precision::kFp8 ? 0.05 : 0.01) * std::sqrt(static_cast<double>(k));
}

double value_at(Precision precision, const std::vector<std::byte>& values, size_t index) {
  auto take = [&](auto value) {
    std::memcpy(&value, values.data() + index * sizeof value, sizeof value);
    return value;
  };
  switch (precision) {
    case Precision::kFp64: return take(double{});
    case Precision::kFp16: return small_float(take(uint16_t{}), 5, 10);
    case Precision::kBf16: return small_float(take(uint16_t{}), 8, 7);
    case Precision::kFp8: return small_float(take(uint8_t{}), 4, 3);
    case Precision::kInt8: return take(int8_t{});
    default: return static_cast<double>(take(float{}));
  }
}

}  // namespace ridge::limits::accelerator
