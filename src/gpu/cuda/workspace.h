// A workspace (gpu/device.h) on an NVIDIA GPU: streams as queues, NVRTC's kernels, graphs, cuBLASLt.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/cuda/cublaslt.h"
#include "gpu/cuda/cuda.h"
#include "gpu/cuda/memory.h"
#include "gpu/cuda/module.h"
#include "gpu/cuda/nvrtc.h"
#include "gpu/cuda/stream.h"
#include "gpu/device.h"

namespace ridge::gpu::cuda {

class CudaWorkspace final : public Workspace {
 public:
  // `newest_cuda`: major number of the driver's CUDA, the upper limit for NVRTC and cuBLASLt.
  static Result<std::unique_ptr<Workspace>> open(const CudaContext& context, const CudaDevice& device, int newest_cuda,
                                                 Timing timing);
  // Work queued before a failed step may still use buffers and kernels.
  ~CudaWorkspace() override;

  // Through PTX if NVRTC (RIDGE_NVRTC) does not know the GPU.
  Status build(const std::string& source) override;
  Result<int> code_architecture() const override;
  Result<BufferNumber> add_bytes(size_t size, MemoryKind kind) override;
  Status write_bytes(BufferNumber buffer, std::span<const std::byte> content, size_t at) override;
  Status read_bytes(BufferNumber buffer, std::span<std::byte> content, size_t at) override;
  // The device times queue 0.
  Result<LaunchTime> run(std::span<const Step> steps, int repeats) override;
  Result<Recording> record(std::span<const Launch> launches, int times) override;
  Result<GemmPlan> plan(const GemmProblem& problem) override;
  Result<Residency> residency(const Launch& launch) override;

 private:
  struct CudaBuffer {
    MemoryKind kind;
    CudaMemory memory;
    bool pooled = false;
    // Memory that the host reads and writes at any time; empty: kDevice, kUnified.
    std::span<std::byte> host() const {
      return kind == MemoryKind::kHost || kind == MemoryKind::kPinned ? memory.bytes() : std::span<std::byte>();
    }
  };
  struct Queue {
    CudaStream stream;
    CudaEvent given;  // others wait for it
  };
  struct PlannedGemm {
    GemmProblem problem;
    CublasLtGemm gemm;
    bool chosen = false;
  };
  class ReadyLaunch;
  struct ReadyStep;

  CudaWorkspace(CudaContext context, CudaDevice device, int newest_cuda, Timing timing)
      : context_(std::move(context)), device_(std::move(device)), newest_cuda_(newest_cuda), timing_(timing) {}
  Result<Nvrtc> open_compiler() const;
  Result<Queue*> queue(size_t number);
  Result<CudaKernel*> kernel(const std::string& name);
  Result<PlannedGemm*> planned(const GemmProblem& problem);
  // Resolves everything before the clock runs.
  Result<ReadyLaunch> ready(const Launch& launch);
  Result<ReadyStep> ready(const Step& step);
  Status start(ReadyStep& step);
  Status copy(const CudaStream& stream, const Copy& copy);
  Status renew(const CudaStream& stream, const Reallocate& renew);
  CudaMemory& memory(BufferNumber buffer) { return buffers_.at(buffer.value).memory; }

  CudaContext context_;
  CudaDevice device_;
  int newest_cuda_;
  Timing timing_;
  std::deque<Queue> queues_;
  CudaEvent begin_, end_;
  std::vector<CudaBuffer> buffers_;
  CudaModule module_;
  std::map<std::string, CudaKernel> kernels_;
  std::vector<CudaGraph> recordings_;
  std::optional<CublasLt> library_;
  std::deque<PlannedGemm> gemms_;
  bool pool_keeps_ = false;
};

}  // namespace ridge::gpu::cuda
