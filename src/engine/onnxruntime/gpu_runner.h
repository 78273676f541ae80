// Runs a session on an NVIDIA GPU. Several callers may run at once: the model computes one run after another on the
// session's stream, while the copies of earlier and later runs overlap with it, each on a lane of its own.
#pragma once

#include <memory>
#include <vector>

#include "base/mutex.h"
#include "engine/onnxruntime/gpu_lane.h"
#include "plan/device.h"

namespace ridge::engine::onnxruntime {

// While ONNX Runtime captures a graph, no other session of the process may begin, run or end: its own calls (a
// device-wide wait, an allocation on a thread of its own) would break the capture (CUDA C++ Programming Guide,
// "Prohibited and Unhandled Operations"). A run that captures holds this exclusively, all else shared; our own calls
// need no lock (gpu::cuda::CudaContext::use).
SharedMutex& graph_captures();

// Thread-safe.
class GpuRunner {
 public:
  // Opens the driver and the GPU; `run_entries` and `graphs` as in GpuBasis.
  static Result<std::unique_ptr<GpuRunner>> open(const Library& library, const plan::Device& device,
                                                 std::map<std::string, std::string> run_entries, bool graphs);
  ~GpuRunner();
  GpuRunner(const GpuRunner&) = delete;
  GpuRunner& operator=(const GpuRunner&) = delete;

  void* stream() const { return compute_.handle(); }  // that the session must compute on
  // Before the first run: whether some nodes stay with the CPU (GpuBasis).
  void set_mixed(bool mixed) { basis_.mixed = mixed; }

  // Does what Session::run does; `take` as in GpuLane::fetch.
  Status run(const GpuRun& run, RunTimes* times, const GpuLane::TakeOutput& take);

 private:
  GpuRunner(const Library& library, gpu::cuda::CudaContext context)
      : basis_{library, std::move(context), {}, {}, false, false} {}
  Result<std::unique_ptr<GpuLane>> acquire();
  Status compute_on(GpuLane& lane, const GpuRun& run);
  Status run_on(GpuLane& lane, const GpuRun& run, const GpuLane::TakeOutput& take);
  void end(std::unique_ptr<GpuLane> lane);  // whose run failed

  GpuBasis basis_;
  gpu::cuda::CudaStream compute_;
  // Held while a run is queued on compute_: ONNX Runtime allows one at a time on a given stream.
  Mutex compute_mutex_;
  Mutex lanes_mutex_;
  std::vector<std::unique_ptr<GpuLane>> free_ RIDGE_GUARDED_BY(lanes_mutex_);  // one for each run at once
};

}  // namespace ridge::engine::onnxruntime
