#include "limits/accelerator/cuda_products.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "limits/accelerator/kernels.h"

namespace ridge::limits::accelerator {
namespace {

constexpr int kTries = 3;      // of each of the library's algorithms
constexpr int64_t kLooks = 8;  // numbers of a result that are computed again

gpu::cuda::ProductPrecision library_precision(Precision precision) {
  switch (precision) {
    case Precision::kFp64: return gpu::cuda::ProductPrecision::kFp64;
    case Precision::kTf32: return gpu::cuda::ProductPrecision::kTf32;
    case Precision::kFp16: return gpu::cuda::ProductPrecision::kFp16;
    case Precision::kBf16: return gpu::cuda::ProductPrecision::kBf16;
    case Precision::kFp8: return gpu::cuda::ProductPrecision::kFp8;
    case Precision::kInt8: return gpu::cuda::ProductPrecision::kInt8;
    default: return gpu::cuda::ProductPrecision::kFp32;
  }
}

// Of a sum: 16-bit results of narrow types, 32-bit integers of INT8.
double result_at(Precision precision, const std::vector<std::byte>& values) {
  if (precision == Precision::kInt8) {
    int32_t sum = 0;
    std::memcpy(&sum, values.data(), sizeof sum);
    return sum;
  }
  return value_at(precision == Precision::kFp8 ? Precision::kBf16 : precision, values, 0);
}

// A half as IEEE 754-2019 has it (binary16), or any type with so many bits of exponent and fraction, without infinities.
double small_float(uint32_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = static_cast<double>(bits & ((1U << fraction_bits) - 1)) / (1 << fraction_bits);
  const double size = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
  return bits >> (exponent_bits + fraction_bits) ? -size : size;
}

// The memories that all products share, as large as the largest needs, and what they hold.
struct Factors {
  Factors(gpu::cuda::CudaWorkspace space, gpu::cuda::CublasLt opened, gpu::cuda::CudaEvent first,
          gpu::cuda::CudaEvent last)
      : workspace(std::move(space)), library(std::move(opened)), begin(std::move(first)), end(std::move(last)) {}
  // Memory of at least so many bytes, and random factors of that type in it.
  Status make_room(const gpu::cuda::ProductBytes& needed);
  Status fill(Precision precision);
  Status fill(gpu::BufferNumber buffer, const RandomBits& bits, int32_t seed);

  gpu::cuda::CudaWorkspace workspace;
  gpu::cuda::CublasLt library;
  gpu::cuda::CudaEvent begin, end;
  gpu::BufferNumber a, b, d;
  gpu::cuda::ProductBytes room;  // of the three
  std::optional<Precision> filled;
};
using FactorsHandle = std::shared_ptr<Factors>;

Status Factors::make_room(const gpu::cuda::ProductBytes& needed) {
  struct Part {
    size_t gpu::cuda::ProductBytes::*bytes;
    gpu::BufferNumber Factors::*buffer;
  };
  for (const Part& part :
       {Part{&gpu::cuda::ProductBytes::a, &Factors::a}, Part{&gpu::cuda::ProductBytes::b, &Factors::b},
        Part{&gpu::cuda::ProductBytes::d, &Factors::d}}) {
    if (room.*part.bytes >= needed.*part.bytes) continue;
    // The smaller memory stays with its number and gives its content back.
    if (room.*part.bytes > 0) workspace.memory(this->*part.buffer) = gpu::cuda::CudaMemory();
    room.*part.bytes = 0;
    RIDGE_ASSIGN(this->*part.buffer, workspace.add_bytes(needed.*part.bytes));
    room.*part.bytes = needed.*part.bytes;
    filled.reset();
  }
  return {};
}

Status Factors::fill(gpu::BufferNumber buffer, const RandomBits& bits, int32_t seed) {
  auto as_number = [](uint32_t word) { return std::bit_cast<int32_t>(word); };
  const auto words = static_cast<int32_t>(workspace.memory(buffer).size() / sizeof(uint32_t));
  const gpu::Launch launch = {"random_bits",
                              {1024},
                              {256},
                              {buffer, words, seed, as_number(bits.keep_even), as_number(bits.set_even),
                               as_number(bits.keep_odd), as_number(bits.set_odd)}};
  Result<gpu::LaunchTime> ran = workspace.run({&launch, 1});
  return ran ? Status{} : Status(ran.error());
}

Status Factors::fill(Precision precision) {
  if (filled == precision) return {};
  RIDGE_TRY(fill(a, random_bits_of(precision), 1));
  RIDGE_TRY(fill(b, random_bits_of(precision), 77));
  filled = precision;
  return {};
}

// One product of one type and shape.
struct CudaProduct {
  CudaProduct(FactorsHandle shared, Precision type, gpu::cuda::ProductProblem shape, gpu::cuda::Product made)
      : factors(std::move(shared)), precision(type), problem(shape), product(std::move(made)) {}
  Result<double> seconds(int64_t repeats);
  Status check();
  Result<double> expected(int64_t row, int64_t column);
  Result<double> got(int64_t row, int64_t column);
  Status queue() {
    return product.queue(factors->workspace.stream(), memory(factors->a), memory(factors->b), memory(factors->d));
  }
  gpu::cuda::CudaMemory& memory(gpu::BufferNumber number) { return factors->workspace.memory(number); }

  FactorsHandle factors;
  Precision precision;
  gpu::cuda::ProductProblem problem;
  gpu::cuda::Product product;
  bool chosen = false;
};

Result<double> CudaProduct::seconds(int64_t repeats) {
  RIDGE_TRY(factors->make_room(gpu::cuda::bytes(problem)));
  RIDGE_TRY(factors->fill(precision));
  const gpu::cuda::CudaStream& stream = factors->workspace.stream();
  if (!chosen)
    RIDGE_TRY(product.keep_fastest(stream, memory(factors->a), memory(factors->b), memory(factors->d), kTries));
  chosen = true;
  RIDGE_TRY(stream.record(factors->begin));
  for (int64_t i = 0; i < repeats; ++i) RIDGE_TRY(queue());
  RIDGE_TRY(stream.record(factors->end));
  RIDGE_TRY(stream.synchronize());
  return factors->end.seconds_since(factors->begin);
}

// a lies row by row, b column by column: of both, k values in a row.
Result<double> CudaProduct::expected(int64_t row, int64_t column) {
  const size_t values = static_cast<size_t>(problem.k),
               bytes = gpu::cuda::bytes(problem).a / static_cast<size_t>(problem.m);
  std::vector<std::byte> of_a(bytes), of_b(bytes);
  RIDGE_TRY(memory(factors->a).read(of_a, static_cast<size_t>(row) * bytes));
  RIDGE_TRY(memory(factors->b).read(of_b, static_cast<size_t>(column) * bytes));
  double sum = 0;
  for (size_t i = 0; i < values; ++i) sum += value_at(precision, of_a, i) * value_at(precision, of_b, i);
  return sum;
}

Result<double> CudaProduct::got(int64_t row, int64_t column) {
  const size_t size = gpu::cuda::bytes(problem).d / static_cast<size_t>(problem.m * problem.n);
  std::vector<std::byte> value(size);
  RIDGE_TRY(memory(factors->d).read(value, static_cast<size_t>(row * problem.n + column) * size));
  return result_at(precision, value);
}

Status CudaProduct::check() {
  const double tolerance = sum_tolerance(precision, problem.k);
  for (int64_t look = 0; look < kLooks; ++look) {
    const int64_t row = look * (problem.m - 1) / (kLooks - 1),
                  column = (look * 5 % kLooks) * (problem.n - 1) / (kLooks - 1);
    RIDGE_ASSIGN(double should, expected(row, column));
    RIDGE_ASSIGN(double is, got(row, column));
    if (!(std::abs(is - should) <= tolerance))
      return Error{Code::kFailed,
                   fmt::format("cuBLASLt's {} product of {} x {} x {} has {} instead of {} in row {}, column {}",
                               precision_name(precision), problem.m, problem.n, problem.k, is, should, row, column)};
  }
  return {};
}

class CudaProducts : public Products {
 public:
  explicit CudaProducts(FactorsHandle factors) : factors_(std::move(factors)) {}
  Result<LibraryProduct> prepare(Precision precision, int64_t m, int64_t n, int64_t k) override {
    const gpu::cuda::ProductProblem problem{library_precision(precision), m, n, k, true, false};
    RIDGE_ASSIGN(gpu::cuda::Product planned, factors_->library.plan(problem));
    auto product = std::make_shared<CudaProduct>(factors_, precision, problem, std::move(planned));
    LibraryProduct result;
    result.what = fmt::format("cuBLASLt {}, {} x {} x {}", factors_->library.version(), m, n, k);
    result.flops = gpu::cuda::flops(problem);
    result.seconds = [product](int64_t repeats) { return product->seconds(repeats); };
    result.check = [product] { return product->check(); };
    result.how = [product] {
      return fmt::format("algorithm {} of {}", product->product.chosen() + 1, product->product.candidates());
    };
    return result;
  }

 private:
  FactorsHandle factors_;
};

}  // namespace

RandomBits random_bits_of(Precision precision) {
  // Sign and fraction kept, exponent that of 1/2 (IEEE 754-2019; BF16 and TF32 as binary32; E4M3: Micikevicius et al., "FP8 Formats for
  // Deep Learning", 2022, table 1).
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

Result<std::unique_ptr<Products>> open_cuda_products(gpu::cuda::CudaWorkspace workspace, int newest_cuda) {
  RIDGE_ASSIGN(gpu::cuda::CublasLt library, gpu::cuda::CublasLt::open(workspace.context(), "", newest_cuda));
  RIDGE_TRY(workspace.build(kernel_source("", {"random_bits"})));
  RIDGE_ASSIGN(gpu::cuda::CudaEvent begin, gpu::cuda::CudaEvent::create(workspace.context()));
  RIDGE_ASSIGN(gpu::cuda::CudaEvent end, gpu::cuda::CudaEvent::create(workspace.context()));
  auto factors = std::make_shared<Factors>(std::move(workspace), std::move(library), std::move(begin), std::move(end));
  return std::unique_ptr<Products>(std::make_unique<CudaProducts>(std::move(factors)));
}

}  // namespace ridge::limits::accelerator
