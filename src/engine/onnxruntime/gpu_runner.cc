#include "engine/onnxruntime/gpu_runner.h"

#include "gpu/cuda/cuda.h"

namespace ridge::engine::onnxruntime {

SharedMutex& graph_captures() {
  static auto* mutex = new SharedMutex;  // leaked: sessions may end after static destruction
  return *mutex;
}

Result<std::unique_ptr<GpuRunner>> GpuRunner::open(const Library& library, const plan::Device& device,
                                                   std::map<std::string, std::string> run_entries, bool graphs) {
  RIDGE_ASSIGN(const gpu::cuda::Cuda driver, gpu::cuda::Cuda::open());
  const auto index = static_cast<size_t>(device.index);
  RIDGE_ASSIGN(gpu::cuda::CudaContext context, driver.context(index));
  std::unique_ptr<GpuRunner> runner(new GpuRunner(library, std::move(context)));
  GpuBasis& basis = runner->basis_;
  basis.run_entries = std::move(run_entries);
  basis.graphs = graphs;
  const OrtApi& api = *library.api;
  basis.memory = MemoryInfoHandle(api);
  RIDGE_TRY(
      take(api, api.CreateMemoryInfo("Cuda", OrtDeviceAllocator, device.index, OrtMemTypeDefault, basis.memory.out())));
  RIDGE_ASSIGN(runner->compute_, gpu::cuda::CudaStream::create(basis.context));
  return runner;
}

GpuRunner::~GpuRunner() {
  ReaderLock beside(graph_captures());
  if (compute_.handle() != nullptr) (void)compute_.synchronize();  // before the lanes' memory goes
  free_.clear();
}

Result<std::unique_ptr<GpuLane>> GpuRunner::acquire() {
  {
    MutexLock lock(lanes_mutex_);
    if (!free_.empty()) {
      std::unique_ptr<GpuLane> lane = std::move(free_.back());
      free_.pop_back();
      return lane;
    }
  }
  ReaderLock beside(graph_captures());
  return GpuLane::make(basis_);
}

Status GpuRunner::compute_on(GpuLane& lane, const GpuRun& run) {
  MutexLock lock(compute_mutex_);
  if (lane.captures()) {
    WriterLock alone(graph_captures());
    return lane.compute(run, compute_);
  }
  ReaderLock beside(graph_captures());
  return lane.compute(run, compute_);
}

Status GpuRunner::run_on(GpuLane& lane, const GpuRun& run, const GpuLane::TakeOutput& take) {
  {
    ReaderLock beside(graph_captures());
    RIDGE_TRY(lane.send(run));
  }
  RIDGE_TRY(compute_on(lane, run));
  return lane.fetch(run, take);
}

// Waiting for a stream during a graph capture, or freeing memory meanwhile, would break the capture.
void GpuRunner::end(std::unique_ptr<GpuLane> lane) {
  MutexLock lock(compute_mutex_);
  ReaderLock beside(graph_captures());
  (void)compute_.synchronize();  // no work may be using the lane's memory
  lane.reset();
}

Status GpuRunner::run(const GpuRun& run, RunTimes* times, const GpuLane::TakeOutput& take) {
  RIDGE_ASSIGN(std::unique_ptr<GpuLane> lane, acquire());
  if (Status ran = run_on(*lane, run, take); !ran) {
    end(std::move(lane));
    return ran;
  }
  if (times) {
    RIDGE_ASSIGN(*times, lane->times());
  }
  MutexLock lock(lanes_mutex_);
  free_.push_back(std::move(lane));
  return {};
}

}  // namespace ridge::engine::onnxruntime
