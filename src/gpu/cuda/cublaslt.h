// NVIDIA's library of matrix multiplications (cuBLASLt), opened at run time: the best that the vendor's own kernels do on a GPU.
//
// Handle: copies share the open library. A Product is move-only and used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "gpu/cuda/context.h"
#include "gpu/cuda/memory.h"
#include "gpu/cuda/stream.h"

namespace ridge::gpu::cuda {

namespace cublaslt {
struct Library;
}

// What is multiplied and how it is summed up. Of all but kFp64 and kInt8 (32-bit integers) sums are FP32.
enum class ProductPrecision { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kInt8 };
const char* name_of(ProductPrecision precision);  // "FP64", …

// d = a · b: a of m × k, b of k × n, d of m × n values.
struct ProductProblem {
  ProductPrecision precision = ProductPrecision::kFp32;
  int64_t m = 0, n = 0, k = 0;
  // a and d lie row by row. So does b, or column by column, which kFp8 and kInt8 demand; k and n are then multiples of 16.
  bool b_by_columns = false;
  // d in FP32 instead of the type of a and b; of kFp16, kBf16 and kFp8, whose d is otherwise of 16 bits (kFp8: BF16).
  bool wide_result = false;
};
double flops(const ProductProblem& problem);  // 2 · m · n · k
// Bytes of a, b and d.
struct ProductBytes {
  size_t a = 0, b = 0, d = 0;
};
ProductBytes bytes(const ProductProblem& problem);

// One product, ready to be queued as often as wanted.
class Product {
 public:
  Product(Product&& other) noexcept;
  Product& operator=(Product&& other) noexcept;
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  ~Product();

  // Queues d = a · b. The memories live on the stream's GPU, hold at least bytes(), and live until the stream has passed it.
  Status queue(const CudaStream& stream, const CudaMemory& a, const CudaMemory& b, CudaMemory& d) const;
  // Tries every candidate of the library's heuristic `repeats` times and keeps the fastest; returns its time [s] of one
  // product. Waits for the stream.
  Result<double> keep_fastest(const CudaStream& stream, const CudaMemory& a, const CudaMemory& b, CudaMemory& d,
                              int repeats);
  size_t candidates() const;
  size_t chosen() const;  // of the candidates; 0: the heuristic's first

 private:
  friend class CublasLt;
  struct State;
  explicit Product(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class CublasLt {
 public:
  // `library`: a path; empty: the environment variable RIDGE_CUBLASLT, else libcublasLt of CUDA 13, 12 or 11 by the loader's
  // search, then in python's packages (nvidia-cublas), none newer than `newest`. The error says whether there is none
  // (kNotFound), it is too old (kUnsupported), or it does not start on this GPU.
  static Result<CublasLt> open(const CudaContext& context, const std::string& library = "", int newest = 1000);

  std::string version() const;  // "13.4.1"
  const std::string& path() const;
  // `workspace_bytes`: on the GPU, for the library's own use. kUnsupported: the library has no such product for this GPU.
  Result<Product> plan(const ProductProblem& problem, size_t workspace_bytes = size_t{32} << 20) const;

 private:
  friend class Product;
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace ridge::gpu::cuda
