// Matrix multiplications as a sweep's workload: NVIDIA's cuBLASLt on a GPU, a loop of the lab on the CPU.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "power/sweep.h"

namespace ridge::power {

constexpr int64_t kCpuSquare = 256;   // three of FP32 fit into a core's cache
constexpr int64_t kGpuSquare = 4096;  // large enough for all units of a GPU, 32 MiB of FP16 each

// FP32 on every usable core, each with its own squares of `size`, a multiple of 64.
Result<Workload> gemm_on_cpu(int64_t size, const Clock& clock);
// FP16 squares of random values (zeros would draw less); FP32 on GPUs before Volta. `uuid`: of the GPU.
Result<Workload> gemm_on_gpu(const std::string& uuid, int64_t size, Clock& clock);

// CUDA's name of the GPU with this UUID: "cuda:0". Errors: no driver library, hidden from this process.
Result<std::string> cuda_name_of(const std::string& uuid);

}  // namespace ridge::power
