// A fake for cuBLASLt that computes products of small matrices slowly on the CPU, from the memory of the fake for
// NVIDIA's driver (fake_cuda.cc), when the stream's turn comes. Loaded by RIDGE_CUBLASLT=<this file>.
// It refuses what the real one refuses (cuBLAS documentation, cublasLtMatmul()): FP8 before capability 8.9, BF16 and TF32 before
// 8.0, FP8 and INT8 that are not "TN" or whose sizes are no multiples of 16 and 4. RIDGE_FAKE_CUBLASLT names a script of `fail`
// lines (scripted_gpus.h).
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>

#include "gpu/cuda/abi.h"
#include "gpu/cuda/cublaslt_abi.h"
#include "scripted_gpus.h"

using namespace ridge::gpu::cuda::cublaslt;

namespace {

struct Layout {
  int type;
  int64_t rows, columns, leading;
};
struct Description {
  int compute, scale;
  int32_t transpose_a = 0, transpose_b = 0;
  const float *scale_a = nullptr, *scale_b = nullptr;
  int8_t fast = 0;
};

int failure(const char* function) {
  return ridge::fake::outcome(ridge::fake::script_of("RIDGE_FAKE_CUBLASLT").system, function, int{kSuccess});
}

// A function of the driver that the process has open.
template <typename Signature>
Signature* driver(const char* name) {
  void* library = dlopen(std::getenv("RIDGE_CUDA"), RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Signature*>(dlsym(library, name));
}
int capability() {
  auto* ask = driver<int(int*, int, int)>("cuDeviceGetAttribute");
  int major = 0, minor = 0;
  ask(&major, ridge::gpu::cuda::kCapabilityMajor, 0);
  ask(&minor, ridge::gpu::cuda::kCapabilityMinor, 0);
  return 10 * major + minor;
}

template <typename T>
double read_as(const void* memory, int64_t at) {
  T value;
  std::memcpy(&value, static_cast<const char*>(memory) + at * static_cast<int64_t>(sizeof value), sizeof value);
  return static_cast<double>(value);
}
// Sign, exponent and mantissa of a short float; without infinities and NaN.
double short_float(unsigned bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double mantissa = std::ldexp(static_cast<double>(bits & ((1u << mantissa_bits) - 1)), -mantissa_bits);
  const double size = exponent == 0 ? std::ldexp(mantissa, 1 - bias) : std::ldexp(1 + mantissa, exponent - bias);
  return bits >> (exponent_bits + mantissa_bits) ? -size : size;
}
unsigned to_short_float(double value, int exponent_bits, int mantissa_bits) {
  const unsigned sign = std::signbit(value) ? 1u << (exponent_bits + mantissa_bits) : 0;
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);  // in [0.5, 1)
  const int biased = exponent - 1 + (1 << (exponent_bits - 1)) - 1;
  const auto steps = static_cast<unsigned>(std::nearbyint(std::ldexp(std::abs(value), mantissa_bits + 1 - exponent)));
  return sign | ((static_cast<unsigned>(biased) << mantissa_bits) + steps - (1u << mantissa_bits));
}

double element(const void* memory, const Layout& layout, bool tf32, bool transposed, int64_t row, int64_t column) {
  const int64_t at = transposed ? column + row * layout.leading : row + column * layout.leading;
  switch (layout.type) {
    case kFloat64: return read_as<double>(memory, at);
    case kFloat32: {
      const double value = read_as<float>(memory, at);
      return tf32 ? short_float(to_short_float(value, 8, 10), 8, 10) : value;
    }
    case kInt8: return read_as<int8_t>(memory, at);
    case kFloat16: return short_float(static_cast<unsigned>(read_as<uint16_t>(memory, at)), 5, 10);
    case kBFloat16: return short_float(static_cast<unsigned>(read_as<uint16_t>(memory, at)), 8, 7);
    default: return short_float(static_cast<unsigned>(read_as<uint8_t>(memory, at)), 4, 3);
  }
}

template <typename T>
void write_as(void* memory, int64_t at, double value) {
  const T typed = static_cast<T>(value);
  std::memcpy(static_cast<char*>(memory) + at * static_cast<int64_t>(sizeof typed), &typed, sizeof typed);
}
void store(void* memory, const Layout& layout, int64_t row, int64_t column, double value) {
  const int64_t at = row + column * layout.leading;
  switch (layout.type) {
    case kFloat64: return write_as<double>(memory, at, value);
    case kFloat32: return write_as<float>(memory, at, value);
    case kInt32: return write_as<int32_t>(memory, at, value);
    case kFloat16: return write_as<uint16_t>(memory, at, to_short_float(value, 5, 10));
    default: return write_as<uint16_t>(memory, at, to_short_float(value, 8, 7));
  }
}

struct Work {
  Description how;
  Layout a_layout, b_layout, d_layout;
  const void *a, *b;
  void* d;
  double alpha;
  bool slow;

  void run() const {
    if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const bool tf32 = how.compute == kCompute32FFastTf32;
    const double factor = alpha * (how.scale_a ? static_cast<double>(*how.scale_a * *how.scale_b) : 1.0);
    const int64_t depth = how.transpose_a ? a_layout.rows : a_layout.columns;
    for (int64_t column = 0; column < d_layout.columns; ++column)
      for (int64_t row = 0; row < d_layout.rows; ++row) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += element(a, a_layout, tf32, how.transpose_a != 0, row, k) *
                 element(b, b_layout, tf32, how.transpose_b != 0, k, column);
        store(d, d_layout, row, column, factor * sum);
      }
  }
};

bool fits(const Description& how, const Layout& a, const Layout& b, const Layout& d) {
  const int64_t a_rows = how.transpose_a ? a.columns : a.rows, a_columns = how.transpose_a ? a.rows : a.columns;
  const int64_t b_rows = how.transpose_b ? b.columns : b.rows, b_columns = how.transpose_b ? b.rows : b.columns;
  return a_rows == d.rows && b_columns == d.columns && a_columns == b_rows;
}

bool supported(const Description& how, const Layout& a, const Layout& d) {
  const bool narrow = a.type == kFloat8E4M3 || a.type == kInt8;
  const int64_t unit = a.type == kFloat8E4M3 ? 16 : 4;
  if (narrow && (how.transpose_a != 1 || how.transpose_b != 0)) return false;
  if (narrow && (a.rows % unit != 0 || d.rows % unit != 0)) return false;
  if (a.type == kFloat8E4M3) return capability() >= 89;
  return capability() >= 80 || (a.type != kBFloat16 && how.compute != kCompute32FFastTf32);
}

template <typename T>
int make(Handle* handle, T value) {
  *handle = new T(value);
  return kSuccess;
}
template <typename T>
int destroy(Handle handle) {
  delete static_cast<T*>(handle);
  return kSuccess;
}
template <typename T>
int put(T& member, const void* value, size_t size) {
  if (size != sizeof member) return kInvalidValue;
  std::memcpy(&member, value, size);
  return kSuccess;
}

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT size_t cublasLtGetVersion() { return 130401; }
EXPORT const char* cublasLtGetStatusString(int code) {
  return code == kNotInitialized ? "the library was not initialized" : "an error";
}
EXPORT int cublasLtCreate(Handle* handle) {
  int code = failure("cublasLtCreate");
  return code == kSuccess ? make(handle, 0) : code;
}
EXPORT int cublasLtDestroy(Handle handle) { return destroy<int>(handle); }
EXPORT int cublasLtMatmulDescCreate(Handle* handle, int compute, int scale) {
  return make(handle, Description{compute, scale});
}
EXPORT int cublasLtMatmulDescDestroy(Handle handle) { return destroy<Description>(handle); }
EXPORT int cublasLtMatmulDescSetAttribute(Handle handle, int attribute, const void* value, size_t size) {
  Description& how = *static_cast<Description*>(handle);
  switch (attribute) {
    case kTransposeA: return put(how.transpose_a, value, size);
    case kTransposeB: return put(how.transpose_b, value, size);
    case kScalePointerA: return put(how.scale_a, value, size);
    case kScalePointerB: return put(how.scale_b, value, size);
    case kFastAccumulation: return put(how.fast, value, size);
    default: return kInvalidValue;
  }
}
EXPORT int cublasLtMatrixLayoutCreate(Handle* handle, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  return make(handle, Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading});
}
EXPORT int cublasLtMatrixLayoutDestroy(Handle handle) { return destroy<Layout>(handle); }
EXPORT int cublasLtMatmulPreferenceCreate(Handle* handle) { return make(handle, uint64_t{0}); }
EXPORT int cublasLtMatmulPreferenceDestroy(Handle handle) { return destroy<uint64_t>(handle); }
EXPORT int cublasLtMatmulPreferenceSetAttribute(Handle handle, int attribute, const void* value, size_t size) {
  return attribute == kMostWorkspaceBytes ? put(*static_cast<uint64_t*>(handle), value, size) : int{kInvalidValue};
}
// Two ways, of which the first is the slower one.
EXPORT int cublasLtMatmulAlgoGetHeuristic(Handle, Handle description, Handle a, Handle b, Handle, Handle d, Handle,
                                          int wanted, HeuristicResult* results, int* found) {
  const Description& how = *static_cast<Description*>(description);
  *found = 0;
  if (int code = failure("cublasLtMatmulAlgoGetHeuristic"); code != kSuccess) return code;
  if (!fits(how, *static_cast<Layout*>(a), *static_cast<Layout*>(b), *static_cast<Layout*>(d))) return kInvalidValue;
  if (!supported(how, *static_cast<Layout*>(a), *static_cast<Layout*>(d))) return kNotSupported;
  for (; *found < std::min(wanted, 2); ++*found) {
    results[*found] = HeuristicResult{};
    results[*found].algorithm.data[0] = static_cast<uint64_t>(*found) + 1;
  }
  return kSuccess;
}
EXPORT int cublasLtMatmul(Handle, Handle description, const void* alpha, const void* a, Handle a_layout, const void* b,
                          Handle b_layout, const void*, const void*, Handle, void* d, Handle d_layout,
                          const Algorithm* algorithm, void*, size_t, void* stream) {
  const Description& how = *static_cast<Description*>(description);
  double factor = 0;
  if (how.scale == kFloat64) factor = read_as<double>(alpha, 0);
  if (how.scale == kFloat32) factor = read_as<float>(alpha, 0);
  if (how.scale == kInt32) factor = read_as<int32_t>(alpha, 0);
  auto* work = new Work{how,
                        *static_cast<Layout*>(a_layout),
                        *static_cast<Layout*>(b_layout),
                        *static_cast<Layout*>(d_layout),
                        a,
                        b,
                        d,
                        factor,
                        algorithm->data[0] == 1};
  auto* queue = driver<int(void*, void (*)(void*), void*)>("cuLaunchHostFunc");
  // As often as the stream comes by, which is once: no product of a test is captured into a graph.
  auto run = [](void* given) {
    std::unique_ptr<Work> due(static_cast<Work*>(given));
    due->run();
  };
  return queue(stream, run, work) == 0 ? kSuccess : kExecutionFailed;
}

}  // extern "C"
