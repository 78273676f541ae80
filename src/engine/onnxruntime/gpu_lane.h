// The resources of one run of a model on a GPU: GPU memory for inputs and outputs, pinned memory of the same size, and
// a stream for the copies. Kept from run to run, so that tensors of the same shape keep their addresses.
//
// The order of a run, of which only the last step waits:
//   send     the caller's inputs → pinned memory → GPU, on the lane's own stream
//   compute  the model, on the session's stream, after that; another lane may send or fetch meanwhile
//   fetch    the outputs → pinned memory → the caller, on the lane's own stream, after that
// One thread at a time; calls of compute() on one session exclude each other (GpuRunner).
#pragma once

#include <onnxruntime_c_api.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/onnxruntime/handles.h"
#include "engine/onnxruntime/library.h"
#include "gpu/cuda/memory.h"
#include "gpu/cuda/stream.h"

namespace ridge::engine::onnxruntime {

// Shared by all lanes of a session.
struct GpuBasis {
  const Library& library;
  gpu::cuda::CudaContext context;
  MemoryInfoHandle memory;                         // of the GPU
  std::map<std::string, std::string> run_entries;  // configuration entries of every run
  bool graphs = false;                             // ONNX Runtime replays runs at known addresses as CUDA graphs
  // Some nodes stay on the CPU. ONNX Runtime itself copies their inputs and outputs, on streams that cannot be waited
  // for here; then a run begins when its inputs are on the GPU, and is waited for.
  bool mixed = false;
};

// The request of a run, as for Session::run.
struct GpuRun {
  OrtSession* session = nullptr;
  const Signature& signature;
  std::span<const TensorView> inputs;
  std::span<const int> wanted;
  std::span<Output> outputs;
};

class GpuLane {
 public:
  using TakeOutput = std::function<Status(ValueHandle, Output&)>;

  // `basis` outlives it.
  static Result<std::unique_ptr<GpuLane>> make(const GpuBasis& basis);
  ~GpuLane();  // waits for queued work

  Status send(const GpuRun& run);
  // True if compute() after this send() captures a graph.
  bool captures() const;
  Status compute(const GpuRun& run, const gpu::cuda::CudaStream& stream);
  // Waits, and fills in the outputs; those that the engine allocated go through `take`, which owns them then.
  Status fetch(const GpuRun& run, const TakeOutput& take);
  // Times of the fetched run, by the GPU's clock: copying in and out with the caller's memory, and computing.
  Result<RunTimes> times() const;

 private:
  // A tensor's memory on the GPU, and pinned memory for it.
  struct GpuTensor {
    explicit GpuTensor(const OrtApi& api) : value(api) {}
    gpu::cuda::CudaMemory gpu, pinned;
    ValueHandle value;  // over `gpu`
    DataType type = DataType::kInvalid;
    Shape shape;
  };
  explicit GpuLane(const GpuBasis& basis) : basis_(basis) {}

  // The slot's memory, for this type and shape; its addresses stay while it is large enough.
  Result<GpuTensor*> place(size_t slot, DataType type, const Shape& shape, size_t bytes);
  Status send_input(const TensorSpec& spec, size_t slot, const TensorView& tensor);
  Status add_outputs(const GpuRun& run);
  void note(const GpuTensor& place);  // that it is of this run
  // Options of runs of one layout, which have CUDA graphs of their own, if on. ONNX Runtime keeps one per thread.
  struct Layout {
    RunOptionsHandle options;
    std::set<uint64_t> captured_by;  // threads, as numbered by this_thread()
  };
  bool has_graph() const;    // of this thread, or one may be captured
  bool is_captured() const;  // by this thread
  bool waits() const { return engine_allocates_ || basis_.mixed; }
  Result<OrtRunOptions*> options_of_run();

  const GpuBasis& basis_;
  gpu::cuda::CudaStream copies_;
  gpu::cuda::CudaEvent begun_, sent_, started_, computed_, left_;
  TimePoint left_at_{}, fetched_at_{};  // by the CPU's clock: outputs in pinned memory, in the caller's
  Nanoseconds waited_{0};               // for the last run
  std::map<size_t, std::unique_ptr<GpuTensor>> gpu_tensors_;  // by slot: inputs, optional inputs, outputs
  std::vector<const char*> in_names_, out_names_;             // of this run, as the values
  std::vector<OrtValue*> in_, out_;
  std::vector<ValueHandle> strings_, allocated_;  // of this run: inputs, and outputs by the engine
  bool engine_allocates_ = false;                 // some output of this run
  std::string laid_out_;                          // with graphs: addresses and shapes of this run's tensors
  std::optional<RunOptionsHandle> waiting_;       // of runs that wait for their end
  std::optional<RunOptionsHandle> queuing_;       // of those that do not, without a graph
  std::map<std::string, Layout> layouts_;         // of those that do not, by laid_out_
  size_t captures_ = 0;                           // of all layouts and threads
};

}  // namespace ridge::engine::onnxruntime
