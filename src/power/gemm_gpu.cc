#include <fmt/format.h>

#include <memory>
#include <random>
#include <span>
#include <vector>

#include "gpu/cuda/cublaslt.h"
#include "gpu/cuda/cuda.h"
#include "power/gemm.h"

namespace ridge::power {
namespace {

constexpr int kQueuedProducts = 16;  // a few milliseconds of work between two reads of the clock

// Values of 0.5 to 1 with either sign: FP16 (two in a word: sign, exponent 14, ten random bits) or FP32.
std::vector<uint32_t> random_words(size_t bytes, bool halves) {
  std::mt19937 random(1);
  std::vector<uint32_t> words(bytes / sizeof(uint32_t));
  for (uint32_t& word : words) {
    const uint32_t bits = static_cast<uint32_t>(random());
    word = halves ? (bits & 0x83FF83FFU) | 0x38003800U : (bits & 0x807FFFFFU) | 0x3F000000U;
  }
  return words;
}

// A multiplication's resources, in the order of creation.
struct GpuGemm {
  gpu::cuda::CudaContext context;
  gpu::cuda::CudaStream stream;
  gpu::cuda::CudaMemory a, b, d;
  gpu::cuda::CublasLtGemm product;
  double flops;

  Status queue_and_wait() {
    for (int i = 0; i < kQueuedProducts; ++i) RIDGE_TRY(product.queue(stream, a, b, d));
    return stream.synchronize();
  }
};

Result<gpu::cuda::CudaMemory> random_memory(const gpu::cuda::CudaContext& context, size_t bytes, bool halves) {
  RIDGE_ASSIGN(gpu::cuda::CudaMemory memory, gpu::cuda::CudaMemory::allocate(context, bytes));
  const std::vector<uint32_t> words = random_words(bytes, halves);
  RIDGE_TRY(memory.write(std::as_bytes(std::span(words))));
  return memory;
}

// Position of the GPU with this UUID among CUDA's. Error: it is hidden from this process.
Result<size_t> cuda_index_of(const gpu::cuda::Cuda& cuda, const std::string& uuid) {
  for (size_t i = 0; i < cuda.devices().size(); ++i)
    if (cuda.devices()[i].uuid == uuid && cuda.devices()[i].problem.empty()) return i;
  return Error{Code::kNotFound,
               fmt::format("CUDA does not show GPU {} to this process: check CUDA_VISIBLE_DEVICES and MIG", uuid)};
}

}  // namespace

Result<Workload> gemm_on_gpu(const std::string& uuid, int64_t size, Clock& clock) {
  RIDGE_ASSIGN(gpu::cuda::Cuda cuda, gpu::cuda::Cuda::open());
  RIDGE_ASSIGN(size_t index, cuda_index_of(cuda, uuid));
  const bool halves = cuda.devices()[index].capability >= 70;
  gpu::GemmProblem problem{halves ? Precision::kFp16 : Precision::kFp32, size, size, size};
  const gpu::GemmBytes bytes = gpu::bytes(problem);
  RIDGE_ASSIGN(gpu::cuda::CudaContext context, cuda.context(index));
  RIDGE_ASSIGN(gpu::cuda::CublasLt library, gpu::cuda::CublasLt::open(context, "", cuda.driver_version() / 1000));
  RIDGE_ASSIGN(gpu::cuda::CudaStream stream, gpu::cuda::CudaStream::create(context));
  RIDGE_ASSIGN(gpu::cuda::CudaMemory a, random_memory(context, bytes.a, halves));
  RIDGE_ASSIGN(gpu::cuda::CudaMemory b, random_memory(context, bytes.b, halves));
  RIDGE_ASSIGN(gpu::cuda::CudaMemory d, gpu::cuda::CudaMemory::allocate(context, bytes.d));
  RIDGE_ASSIGN(gpu::cuda::CublasLtGemm product, library.plan(problem));
  RIDGE_ASSIGN([[maybe_unused]] double once, product.keep_fastest(stream, a, b, d, 3));
  auto gemm = std::make_shared<GpuGemm>(GpuGemm{context, std::move(stream), std::move(a), std::move(b), std::move(d),
                                                std::move(product), gpu::flops(problem)});
  return Workload{fmt::format("{0} matrix multiplications of {1} x {1} by cuBLASLt {2}", halves ? "FP16" : "FP32", size,
                              library.version()),
                  "FLOP", [gemm, &clock](Nanoseconds slice) {
                    return rate_of(slice, kQueuedProducts * gemm->flops, [&] { return gemm->queue_and_wait(); }, clock);
                  }};
}

Result<std::string> cuda_name_of(const std::string& uuid) {
  RIDGE_ASSIGN(gpu::cuda::Cuda cuda, gpu::cuda::Cuda::open());
  RIDGE_ASSIGN(size_t index, cuda_index_of(cuda, uuid));
  return fmt::format("cuda:{}", index);
}

}  // namespace ridge::power
