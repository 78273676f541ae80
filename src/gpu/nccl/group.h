// GPUs of this machine for collective operations: a communicator, a stream and two buffers on each, driven by one thread.
//
// Waits for a hanging library no longer than `patience`. Then the operation is aborted, the group becomes unusable and every
// further call says why; a call that still does not return is abandoned, with its memory, until the process ends.
//
// Move-only. One thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bounded_thread.h"
#include "base/clock.h"
#include "base/result.h"
#include "gpu/cuda/context.h"
#include "gpu/nccl/nccl.h"

namespace ridge::gpu::nccl {

class NcclGroup {
 public:
  // Of different GPUs, at least one. The buffers, `buffer_bytes` each, are uninitialised.
  static Result<NcclGroup> create(const Nccl& nccl, const std::vector<cuda::CudaContext>& gpus, size_t buffer_bytes,
                                  Nanoseconds patience);
  NcclGroup(NcclGroup&& other) noexcept;
  NcclGroup& operator=(NcclGroup&& other) noexcept;
  ~NcclGroup();

  size_t size() const;  // GPUs
  size_t buffer_bytes() const;
  bool broken() const { return broken_.has_value(); }

  // Runs the operation `repeats` times in sequence, on FP32 values from the first buffers to the second, summing where it
  // reduces; the root of a broadcast is the first GPU. `bytes` as NCCL's tests count: of the largest buffer involved, a
  // multiple of 4, for all-gather and reduce-scatter of 4 · size(). Returns the time of all [s], by the host's clock, until
  // every GPU is done.
  Result<double> run(Collective collective, size_t bytes, int64_t repeats);

  // Content of a GPU's first buffer, from `at` on; repeats the values until `bytes` are written.
  Status fill(size_t gpu, std::span<const float> values, size_t bytes);
  // Sets every value of a GPU's second buffer to one that is no sum.
  Status spoil(size_t gpu);
  Status read(size_t gpu, std::span<float> values, size_t at) const;  // of the second buffer, from byte `at` on

 private:
  struct State;
  explicit NcclGroup(std::shared_ptr<State> state);
  // In a thread of its own, for at most `patience`.
  Status within_patience(std::string_view doing, std::function<Status()> call);
  void abort(BoundedThread& call);

  std::shared_ptr<State> state_;  // shared with calls that do not return
  bool joined_ = false;           // communicators exist
  std::optional<Error> broken_;
};

}  // namespace ridge::gpu::nccl
