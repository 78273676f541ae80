// A fake of cuBLASLt that computes multiplications of small matrices slowly on the CPU, from the memory of the fake
// driver (fake_cuda.cc), in stream order. Loaded by RIDGE_CUBLASLT=<this file>. It refuses the same as the real one
// (cuBLAS documentation, cublasLtMatmul()): FP8 before capability 8.9, BF16 and TF32 before 8.0, FP8 and INT8 that are
// not "TN" or whose sizes are no multiples of 16 and 4. RIDGE_FAKE_CUBLASLT names a script of `fail` lines
// (scripted_gpus.h).
#include <cublasLt.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "fake_driver.h"
#include "scripted_gpus.h"

namespace {

struct Layout {
  cudaDataType type;
  int64_t rows, columns, leading;
};
struct Description {
  cublasComputeType_t compute;
  cudaDataType scale;
  int32_t transpose_a = 0, transpose_b = 0;
  const float *scale_a = nullptr, *scale_b = nullptr;
  int8_t fast = 0;
};

cublasStatus_t failure(const char* function) {
  return ridge::fake::outcome(ridge::fake::script_of("RIDGE_FAKE_CUBLASLT").system, function, CUBLAS_STATUS_SUCCESS);
}

int capability() {
  auto* ask = DRIVER(cuDeviceGetAttribute);
  int major = 0, minor = 0;
  ask(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  ask(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
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
    case CUDA_R_64F: return read_as<double>(memory, at);
    case CUDA_R_32F: {
      const double value = read_as<float>(memory, at);
      return tf32 ? short_float(to_short_float(value, 8, 10), 8, 10) : value;
    }
    case CUDA_R_8I: return read_as<int8_t>(memory, at);
    case CUDA_R_16F: return short_float(static_cast<unsigned>(read_as<uint16_t>(memory, at)), 5, 10);
    case CUDA_R_16BF: return short_float(static_cast<unsigned>(read_as<uint16_t>(memory, at)), 8, 7);
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
    case CUDA_R_64F: return write_as<double>(memory, at, value);
    case CUDA_R_32F: return write_as<float>(memory, at, value);
    case CUDA_R_32I: return write_as<int32_t>(memory, at, value);
    case CUDA_R_16F: return write_as<uint16_t>(memory, at, to_short_float(value, 5, 10));
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
    const bool tf32 = how.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    const double factor = alpha * (how.scale_a ? static_cast<double>(*how.scale_a * *how.scale_b) : 1.0);
    const int64_t depth = how.transpose_a ? a_layout.rows : a_layout.columns;
    // Each element is decoded once: [row][k] and [column][k].
    std::vector<double> rows, columns;
    for (int64_t row = 0; row < d_layout.rows; ++row)
      for (int64_t k = 0; k < depth; ++k) rows.push_back(element(a, a_layout, tf32, how.transpose_a != 0, row, k));
    for (int64_t column = 0; column < d_layout.columns; ++column)
      for (int64_t k = 0; k < depth; ++k)
        columns.push_back(element(b, b_layout, tf32, how.transpose_b != 0, k, column));
    for (int64_t column = 0; column < d_layout.columns; ++column)
      for (int64_t row = 0; row < d_layout.rows; ++row) {
        double sum = 0;
        // By addresses: this is compiled without optimisation.
        const double *left = rows.data() + row * depth, *right = columns.data() + column * depth;
        for (const double* end = left + depth; left != end;) sum += *left++ * *right++;
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
  const bool narrow = a.type == CUDA_R_8F_E4M3 || a.type == CUDA_R_8I;
  const int64_t unit = a.type == CUDA_R_8F_E4M3 ? 16 : 4;
  if (narrow && (how.transpose_a != 1 || how.transpose_b != 0)) return false;
  if (narrow && (a.rows % unit != 0 || d.rows % unit != 0)) return false;
  if (a.type == CUDA_R_8F_E4M3) return capability() >= 89;
  return capability() >= 80 || (a.type != CUDA_R_16BF && how.compute != CUBLAS_COMPUTE_32F_FAST_TF32);
}

template <typename T>
cublasStatus_t make(void** handle, T value) {
  *handle = new T(value);
  return CUBLAS_STATUS_SUCCESS;
}
template <typename T>
cublasStatus_t destroy(void* handle) {
  delete static_cast<T*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
template <typename T>
cublasStatus_t put(T& member, const void* value, size_t size) {
  if (size != sizeof member) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&member, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT size_t cublasLtGetVersion() { return 130401; }
EXPORT const char* cublasLtGetStatusString(cublasStatus_t code) {
  return code == CUBLAS_STATUS_NOT_INITIALIZED ? "the library was not initialized" : "an error";
}
EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  cublasStatus_t code = failure("cublasLtCreate");
  return code == CUBLAS_STATUS_SUCCESS ? make(handle, 0) : code;
}
EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy<int>(handle); }
EXPORT cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* handle, cublasComputeType_t compute,
                                               cudaDataType scale) {
  return make(handle, Description{compute, scale});
}
EXPORT cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t handle) { return destroy<Description>(handle); }
EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                                                     cublasLtMatmulDescAttributes_t attribute, const void* value,
                                                     size_t size) {
  Description& how = *static_cast<Description*>(handle);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return put(how.transpose_a, value, size);
    case CUBLASLT_MATMUL_DESC_TRANSB: return put(how.transpose_b, value, size);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return put(how.scale_a, value, size);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return put(how.scale_b, value, size);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM: return put(how.fast, value, size);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}
EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* handle, cudaDataType type, uint64_t rows,
                                                 uint64_t columns, int64_t leading) {
  return make(handle, Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading});
}
EXPORT cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t handle) { return destroy<Layout>(handle); }
EXPORT cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* handle) {
  return make(handle, uint64_t{0});
}
EXPORT cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t handle) {
  return destroy<uint64_t>(handle);
}
EXPORT cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                                           cublasLtMatmulPreferenceAttributes_t attribute,
                                                           const void* value, size_t size) {
  return attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? put(*static_cast<uint64_t*>(handle), value, size)
                                                               : CUBLAS_STATUS_INVALID_VALUE;
}
// Two algorithms, the first one slower.
EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                                     cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                                     cublasLtMatmulPreference_t, int wanted,
                                                     cublasLtMatmulHeuristicResult_t* results, int* found) {
  const Description& how = *static_cast<Description*>(description);
  *found = 0;
  if (cublasStatus_t code = failure("cublasLtMatmulAlgoGetHeuristic"); code != CUBLAS_STATUS_SUCCESS) return code;
  if (!fits(how, *static_cast<Layout*>(a), *static_cast<Layout*>(b), *static_cast<Layout*>(d)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!supported(how, *static_cast<Layout*>(a), *static_cast<Layout*>(d))) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (; *found < std::min(wanted, 2); ++*found) {
    results[*found] = cublasLtMatmulHeuristicResult_t{};
    results[*found].algo.data[0] = static_cast<uint64_t>(*found) + 1;
  }
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                                     const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                                     cublasLtMatrixLayout_t b_layout, const void*, const void*, cublasLtMatrixLayout_t,
                                     void* d, cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm,
                                     void*, size_t, cudaStream_t stream) {
  const Description& how = *static_cast<Description*>(description);
  double factor = 0;
  if (how.scale == CUDA_R_64F) factor = read_as<double>(alpha, 0);
  if (how.scale == CUDA_R_32F) factor = read_as<float>(alpha, 0);
  if (how.scale == CUDA_R_32I) factor = read_as<int32_t>(alpha, 0);
  auto* work = new Work{how,
                        *static_cast<Layout*>(a_layout),
                        *static_cast<Layout*>(b_layout),
                        *static_cast<Layout*>(d_layout),
                        a,
                        b,
                        d,
                        factor,
                        algorithm->data[0] == 1};
  // Runs once, in stream order: no test captures a multiplication into a graph.
  auto run = [](void* given) {
    std::unique_ptr<Work> due(static_cast<Work*>(given));
    due->run();
  };
  return DRIVER(cuLaunchHostFunc)(stream, run, work) == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS
                                                                     : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
