// On fakes that compute small multiplications slowly (tests/support/fake_cublaslt.cc): layouts and types.
#include "gpu/cuda/cublaslt.h"

#include <cstring>
#include <vector>

#include "gpu/cuda/cuda.h"
#include "gpu/test_child.h"

namespace ridge::gpu::cuda {
namespace {

// The tests' values in that precision; by hand from IEEE 754 (FP16), from the upper half of FP32 (BF16), and from the
// OCP 8-bit floating point specification, E4M3.
struct EncodedValue {
  int value;
  uint16_t fp16, bf16;
  uint8_t fp8;
};
constexpr EncodedValue kCodes[] = {{-2, 0xC000, 0xC000, 0xC0}, {-1, 0xBC00, 0xBF80, 0xB8}, {0, 0x0000, 0x0000, 0x00},
                                   {1, 0x3C00, 0x3F80, 0x38},  {2, 0x4000, 0x4000, 0x40},  {3, 0x4200, 0x4040, 0x44}};

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::vector<std::byte> encoded(const std::vector<int>& values, Precision precision) {
  std::vector<std::byte> bytes;
  for (int value : values) {
    const EncodedValue& code = kCodes[value + 2];
    switch (precision) {
      case Precision::kFp64: append(bytes, static_cast<double>(value)); break;
      case Precision::kFp32:
      case Precision::kTf32: append(bytes, static_cast<float>(value)); break;
      case Precision::kFp16: append(bytes, code.fp16); break;
      case Precision::kBf16: append(bytes, code.bf16); break;
      case Precision::kFp8: append(bytes, code.fp8); break;
      case Precision::kInt8: append(bytes, static_cast<int8_t>(value)); break;
      default: ADD_FAILURE() << precision_name(precision);
    }
  }
  return bytes;
}

std::vector<int> some_values(int64_t count, int seed) {
  std::vector<int> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<int>((i * i + i * seed) % 6) - 2);
  return values;
}

// a · b of row-major matrices, as the expected bytes of d: sums of small integers are exact in every type here, and
// below 256, where BF16 still holds every integer.
std::vector<double> reference(const std::vector<int>& a, const std::vector<int>& b, const GemmProblem& problem) {
  std::vector<double> d;
  for (int64_t row = 0; row < problem.m; ++row)
    for (int64_t column = 0; column < problem.n; ++column) {
      double sum = 0;
      for (int64_t k = 0; k < problem.k; ++k) {
        const int64_t at = problem.b_by_columns ? column * problem.k + k : k * problem.n + column;
        sum += a[static_cast<size_t>(row * problem.k + k)] * b[static_cast<size_t>(at)];
      }
      d.push_back(sum);
    }
  return d;
}

template <typename T>
std::vector<double> as_doubles(const std::vector<std::byte>& bytes) {
  std::vector<T> typed(bytes.size() / sizeof(T));
  std::memcpy(typed.data(), bytes.data(), bytes.size());
  return {typed.begin(), typed.end()};
}
// The upper half of an FP32.
std::vector<double> bf16_as_doubles(const std::vector<std::byte>& bytes) {
  std::vector<std::byte> wide;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    wide.insert(wide.end(), 2, std::byte{0});
    wide.insert(wide.end(), {bytes[i], bytes[i + 1]});
  }
  return as_doubles<float>(wide);
}

std::vector<double> decoded(const std::vector<std::byte>& bytes, const GemmProblem& problem) {
  switch (problem.precision) {
    case Precision::kFp64: return as_doubles<double>(bytes);
    case Precision::kInt8: return as_doubles<int32_t>(bytes);
    case Precision::kBf16:
    case Precision::kFp8:
      if (!problem.wide_result) return bf16_as_doubles(bytes);
      [[fallthrough]];
    default: return as_doubles<float>(bytes);
  }
}

struct Library {
  Cuda cuda;
  CudaContext context;
  CublasLt cublas;
};
Result<Library> opened() {
  RIDGE_ASSIGN(Cuda cuda, Cuda::open());
  RIDGE_ASSIGN(CudaContext context, cuda.context(0));
  RIDGE_ASSIGN(CublasLt cublas, CublasLt::open(context));
  return Library{std::move(cuda), std::move(context), std::move(cublas)};
}

void check_product(const Library& library, const GemmProblem& problem) {
  SCOPED_TRACE(testing::Message() << precision_name(problem.precision) << (problem.b_by_columns ? " by columns" : ""));
  const std::vector<int> a_values = some_values(problem.m * problem.k, 1),
                         b_values = some_values(problem.k * problem.n, 3);
  const GemmBytes sizes = bytes(problem);
  auto a = CudaMemory::allocate(library.context, sizes.a), b = CudaMemory::allocate(library.context, sizes.b),
       d = CudaMemory::allocate(library.context, sizes.d);
  ASSERT_TRUE(a && b && d);
  ASSERT_TRUE(a->write(encoded(a_values, problem.precision)) && b->write(encoded(b_values, problem.precision)));
  auto product = library.cublas.plan(problem);
  ASSERT_TRUE(product) << product.error().message;
  auto stream = CudaStream::create(library.context);
  ASSERT_TRUE(stream);
  Status queued = product->queue(*stream, *a, *b, *d);
  ASSERT_TRUE(queued) << queued.error().message;
  ASSERT_TRUE(stream->synchronize());
  std::vector<std::byte> got(sizes.d);
  ASSERT_TRUE(d->read(got));
  EXPECT_EQ(decoded(got, problem), reference(a_values, b_values, problem));
}

TEST(CublasLt, MultipliesMatricesThatLieRowByRowOrByColumns) {
  on_gpus("healthy", [] {
    auto library = opened();
    ASSERT_TRUE(library) << library.error().message;
    EXPECT_EQ(library->cublas.version(), "13.4.1");
    for (bool by_columns : {false, true}) {
      check_product(*library, {Precision::kFp64, 3, 5, 7, by_columns, false});
      check_product(*library, {Precision::kFp32, 3, 5, 7, by_columns, false});
      check_product(*library, {Precision::kTf32, 4, 6, 2, by_columns, false});
      check_product(*library, {Precision::kFp16, 3, 5, 7, by_columns, true});
      check_product(*library, {Precision::kBf16, 3, 5, 7, by_columns, false});
    }
    for (bool wide : {false, true}) check_product(*library, {Precision::kFp8, 3, 16, 32, true, wide});
    check_product(*library, {Precision::kInt8, 5, 16, 32, true, false});
  });
}

TEST(CublasLt, MultipliesOnTheGpuOfThisMachine) {
  auto library = opened();
  if (!library) GTEST_SKIP() << "no GPU or no cuBLASLt here: " << library.error().message;
  const int capability = library->cuda.devices()[0].capability;
  for (bool by_columns : {false, true}) {
    for (Precision precision : {Precision::kFp64, Precision::kFp32})
      check_product(*library, {precision, 32, 16, 48, by_columns, false});
    check_product(*library, {Precision::kFp16, 32, 16, 48, by_columns, true});
    if (capability < 80) continue;
    for (Precision precision : {Precision::kTf32, Precision::kBf16})
      check_product(*library, {precision, 32, 16, 48, by_columns, false});
  }
  check_product(*library, {Precision::kInt8, 32, 16, 48, true, false});
  if (capability >= 89) check_product(*library, {Precision::kFp8, 32, 16, 48, true, true});
}

// 1 + 2^-12 is FP32, and 1 in TF32's ten bits of mantissa.
TEST(CublasLt, SumsInThePrecisionThatWasAskedFor) {
  on_gpus("healthy", [] {
    auto library = opened();
    ASSERT_TRUE(library) << library.error().message;
    const float value = 1 + 1.0F / 4096;
    for (auto [precision, expected] : {std::pair(Precision::kFp32, value * value), std::pair(Precision::kTf32, 1.0F)}) {
      auto memory = [&] { return CudaMemory::allocate(library->context, sizeof value); };
      auto a = memory(), b = memory(), d = memory();
      ASSERT_TRUE(a && b && d);
      ASSERT_TRUE(a->write(std::as_bytes(std::span(&value, 1))) && b->write(std::as_bytes(std::span(&value, 1))));
      auto product = library->cublas.plan({precision, 1, 1, 1, false, false});
      auto stream = CudaStream::create(library->context);
      ASSERT_TRUE(product && stream);
      ASSERT_TRUE(product->queue(*stream, *a, *b, *d));
      ASSERT_TRUE(stream->synchronize());
      float got = 0;
      ASSERT_TRUE(d->read(std::as_writable_bytes(std::span(&got, 1))));
      EXPECT_FLOAT_EQ(got, expected) << precision_name(precision);
    }
  });
}

TEST(CublasLt, KeepsTheFastestOfItsCandidates) {
  on_gpus("healthy", [] {
    auto library = opened();
    ASSERT_TRUE(library) << library.error().message;
    const GemmProblem problem{Precision::kFp32, 8, 8, 8, false, false};
    auto memory = [&] { return CudaMemory::allocate(library->context, bytes(problem).a); };
    auto a = memory(), b = memory(), d = memory();
    auto stream = CudaStream::create(library->context);
    auto product = library->cublas.plan(problem);
    ASSERT_TRUE(a && b && d && stream && product);
    EXPECT_EQ(product->candidates(), 2u);
    EXPECT_EQ(product->chosen(), 0u);
    auto seconds = product->keep_fastest(*stream, *a, *b, *d, 100);
    ASSERT_TRUE(seconds) << seconds.error().message;
    EXPECT_EQ(product->chosen(), 1u);
    EXPECT_LT(*seconds, 2e-3) << "the slower one sleeps 2 ms";
  });
}

TEST(CublasLt, SaysWhatItCannotDo) {
  on_gpus("turing", [] {
    auto library = opened();
    ASSERT_TRUE(library) << library.error().message;
    for (Precision precision : {Precision::kFp8, Precision::kBf16}) {
      auto refused = library->cublas.plan({precision, 16, 16, 16, true, false});
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Code::kUnsupported);
      EXPECT_NE(refused.error().message.find("for this GPU"), std::string::npos) << refused.error().message;
    }
    EXPECT_FALSE(library->cublas.plan({Precision::kInt8, 16, 16, 16, false, false})) << "must lie by columns";
    EXPECT_TRUE(library->cublas.plan({Precision::kFp16, 16, 16, 16, false, false}));
    auto missing = CublasLt::open(library->context, "/nowhere/libcublasLt.so");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::kNotFound);
  });
}

}  // namespace
}  // namespace ridge::gpu::cuda
