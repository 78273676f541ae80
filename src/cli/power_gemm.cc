#include "cli/power_gemm.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>
#include <vector>

#include "lab/experiments/matmul_native.h"
#include "machine/probe.h"

namespace ridge::cli {
namespace {

// Products of squares on every core, each thread with its own.
Result<double> native_gemm_rate(size_t size, int threads, Nanoseconds slice) {
  const lab::experiments::Matmul multiply = lab::experiments::matmul_loops().back().run;
  std::atomic<int64_t> products = 0;
  const TimePoint begin = SteadyClock::now();
  {
    std::vector<std::jthread> crew;
    for (int i = 0; i < threads; ++i)
      crew.emplace_back([&] {
        std::vector<float> a(size * size, 0.5F), b(size * size, 0.25F), c(size * size);
        while (SteadyClock::now() - begin < slice) {
          multiply(a.data(), b.data(), c.data(), size);
          ++products;
        }
      });
  }
  const double side = static_cast<double>(size), flops = 2 * side * side * side;  // docs/methods.md, cost conventions
  return static_cast<double>(products) * flops / to_seconds(SteadyClock::now() - begin);
}

}  // namespace

Result<size_t> cuda_index_of(const gpu::cuda::Cuda& cuda, const std::string& uuid) {
  for (size_t i = 0; i < cuda.devices().size(); ++i)
    if (cuda.devices()[i].uuid == uuid && cuda.devices()[i].problem.empty()) return i;
  return Error{Code::kNotFound,
               fmt::format("CUDA does not show GPU {} to this process: check CUDA_VISIBLE_DEVICES and MIG", uuid)};
}

Result<power::Workload> gemm_on_cpu(int64_t size) {
  if (size % 64 != 0) return invalid(fmt::format("--size {}: on the CPU a multiple of 64", size));
  RIDGE_ASSIGN(machine::Machine machine, machine::probe());
  const int threads = machine::usable_threads(machine);
  return power::Workload{
      fmt::format("FP32 matrix multiplications of {0} x {0} on {1} threads", size, threads), "FLOP",
      [size, threads](Nanoseconds slice) { return native_gemm_rate(static_cast<size_t>(size), threads, slice); }};
}

Result<std::string> cuda_name_of(const std::string& uuid) {
  RIDGE_ASSIGN(gpu::cuda::Cuda cuda, gpu::cuda::Cuda::open());
  RIDGE_ASSIGN(size_t index, cuda_index_of(cuda, uuid));
  return fmt::format("cuda:{}", index);
}

}  // namespace ridge::cli
