#include "gpu/cuda/steps.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>

#include "base/clock.h"

namespace ridge::gpu::cuda {

Result<CudaSteps> CudaSteps::over(CudaWorkspace workspace, int newest_cuda) {
  CudaSteps steps(std::move(workspace));
  steps.newest_cuda_ = newest_cuda;
  RIDGE_ASSIGN(steps.begin_, CudaEvent::create(steps.workspace_.context()));
  RIDGE_ASSIGN(steps.end_, CudaEvent::create(steps.workspace_.context()));
  return steps;
}

Result<BufferNumber> CudaSteps::add(std::span<const float> content, MemoryKind kind) {
  Buffer buffer{kind, content.size_bytes(), {}, false};
  BufferNumber number;
  if (kind == MemoryKind::kHost) {
    buffer.host.resize(content.size());
    number = workspace_.adopt(CudaMemory());
  } else {
    RIDGE_ASSIGN(number,
                 workspace_.add_bytes(content.size_bytes(), kind == MemoryKind::kPinned    ? CudaMemoryKind::kPinned
                                                            : kind == MemoryKind::kUnified ? CudaMemoryKind::kManaged
                                                                                           : CudaMemoryKind::kDevice));
  }
  assert(number.value == buffers_.size());
  buffers_.push_back(std::move(buffer));
  RIDGE_TRY(write(number, content));
  return number;
}

std::span<std::byte> CudaSteps::host_bytes(BufferNumber buffer) {
  Buffer& one = buffers_.at(buffer.value);
  if (one.kind == MemoryKind::kHost) return std::as_writable_bytes(std::span<float>(one.host));
  return one.kind == MemoryKind::kPinned ? workspace_.memory(buffer).bytes() : std::span<std::byte>();
}

Status CudaSteps::write(BufferNumber buffer, std::span<const float> content) {
  assert(content.size_bytes() <= buffers_.at(buffer.value).bytes);
  std::span<std::byte> host = host_bytes(buffer);
  if (host.empty()) return workspace_.write(buffer, content);
  std::memcpy(host.data(), content.data(), content.size_bytes());
  return {};
}

Status CudaSteps::read(BufferNumber buffer, std::span<float> content) {
  assert(content.size_bytes() <= buffers_.at(buffer.value).bytes);
  std::span<std::byte> host = host_bytes(buffer);
  if (host.empty()) return workspace_.read(buffer, content);
  std::memcpy(content.data(), host.data(), content.size_bytes());
  return {};
}

Result<const CudaStream*> CudaSteps::stream(size_t queue) {
  if (queue == 0) return &workspace_.stream();
  while (more_streams_.size() < queue) {
    RIDGE_ASSIGN(CudaStream made, CudaStream::create(workspace_.context()));
    more_streams_.push_back(std::move(made));
  }
  return &more_streams_[queue - 1];
}

Status CudaSteps::copy(const CudaStream& on, const Copy& copy) {
  const Buffer &from = buffers_.at(copy.from.value), &to = buffers_.at(copy.to.value);
  size_t at = copy.first * sizeof(float);
  size_t bytes = copy.count > 0 ? copy.count * sizeof(float) : std::min(from.bytes, to.bytes);
  std::span<std::byte> source = host_bytes(copy.from), target = host_bytes(copy.to);
  if (!source.empty()) source = source.subspan(at, bytes);
  if (!target.empty()) target = target.subspan(at, bytes);
  if (source.empty() && target.empty()) {
    if (at > 0) return Error{Code::kUnsupported, "a copy on the GPU starts at the beginning of its buffers"};
    return on.copy(workspace_.memory(copy.to), workspace_.memory(copy.from), bytes);
  }
  if (from.kind == MemoryKind::kUnified || to.kind == MemoryKind::kUnified) {
    // The host itself touches what both see, when nothing on the GPU does.
    RIDGE_TRY(on.synchronize());
    if (source.empty()) source = workspace_.memory(copy.from).bytes().subspan(at, bytes);
    if (target.empty()) target = workspace_.memory(copy.to).bytes().subspan(at, bytes);
    std::memcpy(target.data(), source.data(), bytes);
    return {};
  }
  if (!source.empty() && !target.empty())
    return Error{Code::kInvalid, "a copy from host memory to host memory needs no device"};
  if (target.empty()) return on.write(workspace_.memory(copy.to), source, at);
  return on.read(target, workspace_.memory(copy.from), at);
}

Status CudaSteps::renew(const CudaStream& on, const Reallocate& renew) {
  Buffer& buffer = buffers_.at(renew.buffer.value);
  if (buffer.kind != MemoryKind::kDevice)
    return Error{Code::kInvalid, "only device memory can be reallocated during the work"};
  CudaMemory& memory = workspace_.memory(renew.buffer);
  if (renew.pooled && !pool_keeps_) {
    // Else the pool returns all of it to the driver whenever the stream is waited for.
    RIDGE_TRY(keep_in_pool(workspace_.context(), std::numeric_limits<size_t>::max()));
    pool_keeps_ = true;
  }
  if (buffer.pooled) RIDGE_TRY(on.release(std::move(memory)));
  memory = CudaMemory();  // what came from the driver goes back to it here
  buffer.pooled = renew.pooled;
  if (renew.pooled) {
    RIDGE_ASSIGN(memory, on.allocate(buffer.bytes));
  } else {
    RIDGE_ASSIGN(memory, CudaMemory::allocate(workspace_.context(), buffer.bytes));
  }
  return {};
}

Status CudaSteps::queue_all(std::span<const Step> steps) {
  for (const Step& step : steps) {
    RIDGE_ASSIGN(const CudaStream* on, stream(step.queue));
    if (const auto* launch = std::get_if<Launch>(&step.operation))
      RIDGE_TRY(workspace_.queue(*on, {launch, 1}));
    else if (const auto* part = std::get_if<Copy>(&step.operation))
      RIDGE_TRY(copy(*on, *part));
    else if (const auto* ahead = std::get_if<Prefetch>(&step.operation))
      RIDGE_TRY(on->prefetch(workspace_.memory(ahead->buffer), ahead->to_device));
    else if (const auto* again = std::get_if<Reallocate>(&step.operation))
      RIDGE_TRY(renew(*on, *again));
    else
      RIDGE_TRY(multiply(*on, std::get<LibraryProduct>(step.operation)));
  }
  return {};
}

Result<const Product*> CudaSteps::product(const LibraryProduct& wanted) {
  const auto key = std::tuple(wanted.precision, wanted.size, wanted.b_by_columns);
  if (auto found = products_.find(key); found != products_.end()) return &found->second;
  if (!library_) {
    RIDGE_ASSIGN(CublasLt opened, CublasLt::open(workspace_.context(), "", newest_cuda_));
    library_ = std::move(opened);
  }
  bool narrow = wanted.precision == ProductPrecision::kFp16 || wanted.precision == ProductPrecision::kBf16;
  ProductProblem problem{wanted.precision, wanted.size, wanted.size, wanted.size, wanted.b_by_columns, narrow};
  RIDGE_ASSIGN(Product planned, library_->plan(problem));
  constexpr int kTries = 3;
  RIDGE_TRY(planned.keep_fastest(workspace_.stream(), workspace_.memory(wanted.a), workspace_.memory(wanted.b),
                                 workspace_.memory(wanted.d), kTries));
  return &products_.emplace(key, std::move(planned)).first->second;
}

Status CudaSteps::multiply(const CudaStream& on, const LibraryProduct& wanted) {
  RIDGE_ASSIGN(const Product* ready, product(wanted));
  return ready->queue(on, workspace_.memory(wanted.a), workspace_.memory(wanted.b), workspace_.memory(wanted.d));
}

Status CudaSteps::synchronize() const {
  RIDGE_TRY(workspace_.stream().synchronize());
  for (const CudaStream& one : more_streams_) RIDGE_TRY(one.synchronize());
  return {};
}

Result<LaunchTime> CudaSteps::timed(const std::function<Status()>& queue) {
  const CudaStream& first = workspace_.stream();
  LaunchTime time;
  const TimePoint begin = SteadyClock::now();
  RIDGE_TRY(first.record(begin_));
  RIDGE_TRY(queue());
  RIDGE_TRY(first.record(end_));
  RIDGE_TRY(synchronize());
  time.whole_seconds = to_seconds(SteadyClock::now() - begin);
  RIDGE_ASSIGN(time.device_seconds, end_.seconds_since(begin_));
  return time;
}

Result<LaunchTime> CudaSteps::run(std::span<const Step> steps, int repeats) {
  for (const Step& step : steps)
    if (const auto* wanted = std::get_if<LibraryProduct>(&step.operation)) RIDGE_TRY(product(*wanted));
  return timed([&]() -> Status {
    for (int i = 0; i < repeats; ++i) RIDGE_TRY(queue_all(steps));
    return {};
  });
}

Result<LaunchTime> CudaSteps::run_recorded(std::span<const Launch> launches, int repeats) {
  const CudaStream& first = workspace_.stream();
  RIDGE_ASSIGN(CudaGraph graph, first.capture([&] { return workspace_.queue(first, launches); }));
  return timed([&]() -> Status {
    for (int i = 0; i < repeats; ++i) RIDGE_TRY(first.launch(graph));
    return {};
  });
}

}  // namespace ridge::gpu::cuda
