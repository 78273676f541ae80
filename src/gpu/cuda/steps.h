// All that gpu/step.h knows, on a GPU: a CudaWorkspace with memory of every kind, several streams, graphs and cuBLASLt.
//
// Move-only. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gpu/cuda/cublaslt.h"
#include "gpu/cuda/workspace.h"
#include "gpu/step.h"

namespace ridge::gpu::cuda {

class CudaSteps {
 public:
  // `newest_cuda`: major number of the driver's CUDA, for cuBLASLt.
  static Result<CudaSteps> over(CudaWorkspace workspace, int newest_cuda);

  Result<BufferNumber> add(std::span<const float> content, MemoryKind kind = MemoryKind::kDevice);
  Status write(BufferNumber buffer, std::span<const float> content);
  Status read(BufferNumber buffer, std::span<float> content);
  Status build(const std::string& source) { return workspace_.build(source); }
  Result<CudaKernel> kernel(const std::string& name) const { return workspace_.kernel(name); }

  Result<LaunchTime> run(std::span<const Launch> launches, int repeats = 1) {
    return workspace_.run(launches, repeats);
  }
  // Queues the steps `repeats` times and waits for all; queue 0 is the workspace's stream.
  Result<LaunchTime> run(std::span<const Step> steps, int repeats = 1);
  // Captures the launches as a graph, and starts that `repeats` times. Capturing is not counted.
  Result<LaunchTime> run_recorded(std::span<const Launch> launches, int repeats = 1);

 private:
  struct Buffer {
    MemoryKind kind;
    size_t bytes;
    std::vector<float> host;  // kHost; all other memory is the workspace's
    bool pooled = false;
  };
  explicit CudaSteps(CudaWorkspace workspace) : workspace_(std::move(workspace)) {}

  Result<const CudaStream*> stream(size_t queue);
  std::span<std::byte> host_bytes(BufferNumber buffer);  // empty: not the host's memory
  Status queue_all(std::span<const Step> steps);
  Status copy(const CudaStream& stream, const Copy& copy);
  Status renew(const CudaStream& stream, const Reallocate& renew);
  // The library's product, planned at its first use: of its candidates the fastest.
  Result<const Product*> product(const LibraryProduct& wanted);
  Status multiply(const CudaStream& stream, const LibraryProduct& wanted);
  Status synchronize() const;
  // Queues, waits, and says how long it took.
  Result<LaunchTime> timed(const std::function<Status()>& queue);

  CudaWorkspace workspace_;
  std::vector<CudaStream> more_streams_;  // queues from 1
  std::vector<Buffer> buffers_;
  CudaEvent begin_, end_;
  bool pool_keeps_ = false;
  int newest_cuda_ = 0;
  std::optional<CublasLt> library_;
  std::map<std::tuple<ProductPrecision, int64_t, bool>, Product> products_;  // size; whether b lies by columns
};

}  // namespace ridge::gpu::cuda
