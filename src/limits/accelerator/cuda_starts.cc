#include "limits/accelerator/cuda_starts.h"

#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "limits/accelerator/kernels.h"

namespace ridge::limits::accelerator {
namespace {

constexpr int kGraphKernels = 100;

struct CudaStarts {
  gpu::cuda::CudaWorkspace workspace;
  gpu::cuda::CudaStream other;
  gpu::cuda::CudaEvent here_done, there_done;
  gpu::cuda::CudaGraph one, many;  // one kernel; kGraphKernels of them in a row
  gpu::Launch nothing;

  Status queue(const gpu::cuda::CudaStream& stream, int times = 1) {
    return workspace.queue(stream, {&nothing, 1}, times);
  }
  // There and back: each stream waits for what the other was given.
  Status hand_over() {
    const gpu::cuda::CudaStream& here = workspace.stream();
    RIDGE_TRY(queue(here));
    RIDGE_TRY(here.record(here_done));
    RIDGE_TRY(other.wait(here_done));
    RIDGE_TRY(queue(other));
    RIDGE_TRY(other.record(there_done));
    return here.wait(there_done);
  }
  Result<gpu::cuda::CudaGraph> graph_of(int kernels) {
    return workspace.stream().capture([&] { return queue(workspace.stream(), kernels); });
  }
};
using CudaStartsHandle = std::shared_ptr<CudaStarts>;

Result<CudaStartsHandle> make_starts(gpu::cuda::CudaWorkspace workspace) {
  RIDGE_TRY(workspace.build(kernel_source("", {"launch"})));
  RIDGE_ASSIGN(gpu::BufferNumber untouched, workspace.add_bytes(sizeof(int32_t)));
  RIDGE_ASSIGN(gpu::cuda::CudaStream other, gpu::cuda::CudaStream::create(workspace.context()));
  RIDGE_ASSIGN(gpu::cuda::CudaEvent here_done, gpu::cuda::CudaEvent::create(workspace.context()));
  RIDGE_ASSIGN(gpu::cuda::CudaEvent there_done, gpu::cuda::CudaEvent::create(workspace.context()));
  auto starts = std::make_shared<CudaStarts>(CudaStarts{std::move(workspace),
                                                        std::move(other),
                                                        std::move(here_done),
                                                        std::move(there_done),
                                                        {},
                                                        {},
                                                        gpu::Launch{"nothing", {1}, {1}, {untouched}}});
  RIDGE_ASSIGN(starts->one, starts->graph_of(1));
  RIDGE_ASSIGN(starts->many, starts->graph_of(kGraphKernels));
  return starts;
}

// `begin(times)` queues; then the stream is waited for.
template <typename Begin>
Result<double> timed(const CudaStartsHandle& starts, Begin begin) {
  const TimePoint before = SteadyClock::now();
  RIDGE_TRY(begin());
  RIDGE_TRY(starts->workspace.stream().synchronize());
  return to_seconds(SteadyClock::now() - before);
}

Result<double> each_waited_for(const CudaStartsHandle& starts, int64_t times, const std::function<Status()>& begin) {
  return timed(starts, [&]() -> Status {
    for (int64_t i = 0; i < times; ++i) {
      RIDGE_TRY(begin());
      RIDGE_TRY(starts->workspace.stream().synchronize());
    }
    return {};
  });
}

}  // namespace

Result<std::vector<Starting>> cuda_startings(gpu::cuda::CudaWorkspace workspace) {
  RIDGE_ASSIGN(CudaStartsHandle starts, make_starts(std::move(workspace)));
  auto waited = [starts](int64_t times) {
    return each_waited_for(starts, times, [&] { return starts->queue(starts->workspace.stream()); });
  };
  auto queued = [starts](int64_t times) {
    return timed(starts, [&] { return starts->queue(starts->workspace.stream(), static_cast<int>(times)); });
  };
  auto handed_over = [starts](int64_t times) {
    return timed(starts, [&]() -> Status {
      for (int64_t i = 0; i < times; i += 2) RIDGE_TRY(starts->hand_over());
      return {};
    });
  };
  auto graph = [starts](int64_t times) {
    return each_waited_for(starts, times, [&] { return starts->workspace.stream().launch(starts->one); });
  };
  auto node = [starts](int64_t times) {
    return timed(starts, [&]() -> Status {
      for (int64_t i = 0; i < times; i += kGraphKernels) RIDGE_TRY(starts->workspace.stream().launch(starts->many));
      return {};
    });
  };
  return std::vector<Starting>{
      {"kernel, waited for", "one empty kernel queued and waited for: latency as the host sees it", waited},
      {"kernel, queued", "empty kernels queued one after another on a stream, then waited for: time per kernel",
       queued},
      {"kernel, other stream",
       "empty kernels on two streams, each waiting for the one before by an event: time per kernel", handed_over, 2},
      {"graph, waited for", "a graph of one empty kernel launched and waited for", graph},
      {"graph node",
       fmt::format("graphs of {} empty kernels in a row, then waited for: time per kernel", kGraphKernels), node,
       kGraphKernels}};
}

}  // namespace ridge::limits::accelerator
