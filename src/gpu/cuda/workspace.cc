#include "gpu/cuda/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <set>

#include "base/clock.h"
#include "base/rounding.h"
#include "gpu/cuda/abi.h"
#include "gpu/cuda/error.h"
#include "gpu/cuda/nvrtc.h"

namespace ridge::gpu::cuda {
namespace {

Status encode_tensor_map(const Library& library, const BoxedMatrix& matrix, Address address, TensorMap& map) {
  if (!library.cuTensorMapEncodeTiled)
    return Error{Code::kUnsupported, "the driver has no cuTensorMapEncodeTiled (CUDA 12.0)"};
  constexpr size_t kWordBytes = 4;
  const uint64_t sizes[] = {matrix.row_words, matrix.rows}, stride = matrix.row_words * kWordBytes;
  const unsigned box[] = {32, static_cast<unsigned>(matrix.box_rows)}, steps[] = {1, 1};
  return cuda_status(
      library, "cuTensorMapEncodeTiled",
      library.cuTensorMapEncodeTiled(&map, kTensorOfWords, 2, reinterpret_cast<void*>(address), sizes, &stride, box,
                                     steps, kNoInterleave, kSwizzle128Bytes, kPromote128Bytes, kNoFill));
}

}  // namespace

// A launch with the driver's arguments in place of its own.
class CudaWorkspace::ReadyLaunch {
 public:
  ReadyLaunch(const Launch& launch, const CudaKernel& kernel)
      : launch_(&launch), kernel_(&kernel), values_(launch.arguments.size()), pointers_(launch.arguments.size()) {
    for (size_t i = 0; i < values_.size(); ++i) {
      std::visit([&](const auto& value) { std::memcpy(&values_[i], &value, sizeof value); }, launch.arguments[i]);
      pointers_[i] = &values_[i];
    }
  }
  // Before the clock runs.
  Status encode(const cuda::Library& library, std::span<const CudaBuffer> buffers) {
    for (size_t i = 0; i < values_.size(); ++i)
      if (const auto* matrix = std::get_if<BoxedMatrix>(&launch_->arguments[i]))
        RIDGE_TRY(encode_tensor_map(library, *matrix, buffers[matrix->buffer.value].memory.address(), values_[i]));
    return {};
  }
  // Buffers may have been reallocated since the last time.
  Status on(const CudaStream& stream, std::span<const CudaBuffer> buffers) {
    for (size_t i = 0; i < values_.size(); ++i)
      if (const auto* number = std::get_if<BufferNumber>(&launch_->arguments[i]))
        values_[i].opaque[0] = buffers[number->value].memory.address();
    Status queued =
        stream.launch(*kernel_, launch_->blocks, launch_->threads, pointers_, launch_->dynamic_shared_bytes);
    const Extent& threads = launch_->threads;
    return queued ? queued
                  : Status(wrap(queued.error(), fmt::format("{} with {} × {} × {} threads per block", launch_->kernel,
                                                            threads.x, threads.y, threads.z)));
  }

 private:
  const Launch* launch_;
  const CudaKernel* kernel_;
  std::vector<TensorMap> values_;  // the widest argument
  std::vector<void*> pointers_;    // into values_
};

struct CudaWorkspace::ReadyStep {
  const Operation* operation;
  const CudaStream* stream;
  std::optional<ReadyLaunch> launch;
  const CublasLtGemm* gemm = nullptr;
  const Queue* before = nullptr;  // of WaitFor
};

Result<std::unique_ptr<Workspace>> CudaWorkspace::open(const CudaContext& context, const CudaDevice& device,
                                                       int newest_cuda, Timing timing) {
  std::unique_ptr<CudaWorkspace> workspace(new CudaWorkspace(context, device, newest_cuda, timing));
  RIDGE_TRY(workspace->queue(0));
  RIDGE_ASSIGN(workspace->begin_, CudaEvent::create(context));
  RIDGE_ASSIGN(workspace->end_, CudaEvent::create(context));
  return std::unique_ptr<Workspace>(std::move(workspace));
}

CudaWorkspace::~CudaWorkspace() {
  for (const Queue& one : queues_) (void)one.stream.synchronize();  // its result no longer matters
}

Result<Nvrtc> CudaWorkspace::open_compiler() const {
  Result<Nvrtc> opened = Nvrtc::open("", newest_cuda_);
  if (opened) return opened;
  return wrap(opened.error(), fmt::format("NVRTC, which compiles the kernels, for the driver's CUDA {} or older; pip "
                                          "install nvidia-cuda-nvrtc brings it, RIDGE_NVRTC names it",
                                          newest_cuda_));
}

Result<int> CudaWorkspace::code_architecture() const {
  RIDGE_ASSIGN(const Nvrtc compiler, open_compiler());
  RIDGE_ASSIGN(const CudaTarget target, choose_target(compiler.architectures(), device_.capability));
  return target.architecture;
}

Status CudaWorkspace::build(const std::string& source) {
  RIDGE_ASSIGN(const Nvrtc compiler, open_compiler());
  RIDGE_ASSIGN(CudaTarget target, choose_target(compiler.architectures(), device_.capability));
  RIDGE_ASSIGN(CudaProgram program, compiler.compile(source, "program.cu", target.architecture, !target.exact));
  kernels_.clear();
  RIDGE_ASSIGN(module_, CudaModule::load(context_, target.exact ? program.machine_code : program.ptx));
  return {};
}

Result<BufferNumber> CudaWorkspace::add_bytes(size_t size, MemoryKind kind) {
  RIDGE_ASSIGN(CudaMemory memory, CudaMemory::allocate(context_, size, kind));
  buffers_.push_back({kind, std::move(memory)});
  return BufferNumber{buffers_.size() - 1};
}

Status CudaWorkspace::write_bytes(BufferNumber buffer, std::span<const std::byte> content, size_t at) {
  const std::span<std::byte> host = buffers_.at(buffer.value).host();
  if (host.empty()) return memory(buffer).write(content, at);
  std::ranges::copy(content, host.subspan(at, content.size()).begin());
  return {};
}

Status CudaWorkspace::read_bytes(BufferNumber buffer, std::span<std::byte> content, size_t at) {
  const std::span<std::byte> host = buffers_.at(buffer.value).host();
  if (host.empty()) return memory(buffer).read(content, at);
  std::ranges::copy(host.subspan(at, content.size()), content.begin());
  return {};
}

Result<CudaWorkspace::Queue*> CudaWorkspace::queue(size_t number) {
  while (queues_.size() <= number) {
    RIDGE_ASSIGN(CudaStream stream, CudaStream::create(context_));
    RIDGE_ASSIGN(CudaEvent given, CudaEvent::create(context_));
    queues_.push_back({std::move(stream), std::move(given)});
  }
  return &queues_[number];
}

Result<CudaKernel*> CudaWorkspace::kernel(const std::string& name) {
  auto found = kernels_.find(name);
  if (found == kernels_.end()) {
    RIDGE_ASSIGN(CudaKernel made, module_.kernel(name));
    found = kernels_.emplace(name, std::move(made)).first;
  }
  return &found->second;
}

Result<CudaWorkspace::ReadyLaunch> CudaWorkspace::ready(const Launch& launch) {
  RIDGE_ASSIGN(CudaKernel * its, kernel(launch.kernel));
  for (const Argument& argument : launch.arguments)
    if (const auto* number = std::get_if<BufferNumber>(&argument); number && !buffers_.at(number->value).host().empty())
      return Error{Code::kInvalid, launch.kernel + ": a kernel cannot take memory of the host"};
  constexpr size_t kAlwaysAllowed = 48 << 10;  // CUDA C++ Programming Guide, technical specifications per capability
  if (launch.dynamic_shared_bytes > kAlwaysAllowed) RIDGE_TRY(its->allow_dynamic_shared(launch.dynamic_shared_bytes));
  ReadyLaunch made(launch, *its);
  RIDGE_TRY(made.encode(context_.library(), buffers_));
  return made;
}

Result<CudaWorkspace::ReadyStep> CudaWorkspace::ready(const Step& step) {
  RIDGE_ASSIGN(const Queue* its, queue(step.queue));
  ReadyStep made{&step.operation, &its->stream, {}};
  if (const auto* launch = std::get_if<Launch>(&step.operation)) {
    RIDGE_ASSIGN(made.launch, ready(*launch));
  } else if (const auto* wanted = std::get_if<Gemm>(&step.operation)) {
    constexpr int kTries = 3;
    RIDGE_ASSIGN(PlannedGemm * plan, planned(wanted->problem));
    if (!plan->chosen)
      RIDGE_TRY(plan->gemm.keep_fastest(its->stream, memory(wanted->a), memory(wanted->b), memory(wanted->d), kTries));
    plan->chosen = true;
    made.gemm = &plan->gemm;
  } else if (const auto* wait = std::get_if<WaitFor>(&step.operation)) {
    RIDGE_ASSIGN(made.before, queue(wait->queue));
  }
  return made;
}

Status CudaWorkspace::start(ReadyStep& step) {
  const CudaStream& on = *step.stream;
  if (step.launch) return step.launch->on(on, buffers_);
  if (const auto* part = std::get_if<Copy>(step.operation)) return copy(on, *part);
  if (const auto* ahead = std::get_if<Prefetch>(step.operation))
    return on.prefetch(memory(ahead->buffer), ahead->to_device);
  if (const auto* again = std::get_if<Reallocate>(step.operation)) return renew(on, *again);
  if (const auto* gemm = std::get_if<Gemm>(step.operation))
    return step.gemm->queue(on, memory(gemm->a), memory(gemm->b), memory(gemm->d));
  if (const auto* recording = std::get_if<Recording>(step.operation))
    return on.launch(recordings_.at(recording->value));
  RIDGE_TRY(step.before->stream.record(step.before->given));
  return on.wait(step.before->given);
}

Status CudaWorkspace::copy(const CudaStream& on, const Copy& copy) {
  const CudaBuffer &from = buffers_.at(copy.from.value), &to = buffers_.at(copy.to.value);
  const size_t at = copy.first * sizeof(float);
  const size_t bytes =
      copy.count > 0 ? copy.count * sizeof(float) : std::min(from.memory.size(), to.memory.size()) - at;
  const bool from_host = !from.host().empty(), to_host = !to.host().empty();
  if (from_host && to_host) return Error{Code::kInvalid, "a copy from host memory to host memory needs no device"};
  if (!from_host && !to_host) return on.copy(memory(copy.to), from.memory, bytes, at);
  if (from.kind == MemoryKind::kUnified || to.kind == MemoryKind::kUnified) {
    // The host itself writes or reads unified memory while the GPU is idle.
    RIDGE_TRY(on.synchronize());
    std::ranges::copy(from.memory.bytes().subspan(at, bytes), to.memory.bytes().subspan(at, bytes).begin());
    return {};
  }
  if (from_host) return on.write(memory(copy.to), from.host().subspan(at, bytes), at);
  return on.read(to.host().subspan(at, bytes), from.memory, at);
}

Status CudaWorkspace::renew(const CudaStream& on, const Reallocate& renew) {
  CudaBuffer& buffer = buffers_.at(renew.buffer.value);
  if (buffer.kind != MemoryKind::kDevice)
    return Error{Code::kInvalid, "only device memory can be reallocated during the work"};
  if (renew.pooled && !pool_keeps_) {
    // Otherwise the pool returns all of it to the driver at every synchronisation.
    RIDGE_TRY(keep_in_pool(context_, std::numeric_limits<size_t>::max()));
    pool_keeps_ = true;
  }
  const size_t bytes = buffer.memory.size();
  if (buffer.pooled) RIDGE_TRY(on.release(std::move(buffer.memory)));
  buffer.memory = CudaMemory();  // driver allocations are released here
  buffer.pooled = renew.pooled;
  RIDGE_ASSIGN(buffer.memory, renew.pooled ? on.allocate(bytes) : CudaMemory::allocate(context_, bytes));
  return {};
}

Result<CudaWorkspace::PlannedGemm*> CudaWorkspace::planned(const GemmProblem& problem) {
  auto found = std::ranges::find(gemms_, problem, &PlannedGemm::problem);
  if (found != gemms_.end()) return &*found;
  if (!library_) {
    RIDGE_ASSIGN(library_, CublasLt::open(context_, "", newest_cuda_));
  }
  RIDGE_ASSIGN(CublasLtGemm gemm, library_->plan(problem));
  gemms_.push_back({problem, std::move(gemm)});
  return &gemms_.back();
}

Result<GemmPlan> CudaWorkspace::plan(const GemmProblem& problem) {
  RIDGE_ASSIGN(const PlannedGemm* its, planned(problem));
  return GemmPlan{"cuBLASLt " + library_->version(), its->gemm.candidates(), its->gemm.chosen()};
}

Result<Residency> CudaWorkspace::residency(const Launch& launch) {
  RIDGE_ASSIGN(const CudaKernel* its, kernel(launch.kernel));
  RIDGE_ASSIGN(const int registers, its->registers());
  const auto threads = static_cast<int>(launch.threads.x * launch.threads.y * launch.threads.z);
  RIDGE_ASSIGN(const int blocks, its->blocks_per_multiprocessor(threads, launch.dynamic_shared_bytes));
  const int64_t resident = blocks * round_up(int64_t{threads}, device_.warp);
  return Residency{registers,
                   100 * static_cast<double>(resident) / static_cast<double>(device_.threads_per_multiprocessor)};
}

Result<LaunchTime> CudaWorkspace::run(std::span<const Step> steps, int repeats) {
  std::vector<ReadyStep> all;
  for (const Step& step : steps) {
    RIDGE_ASSIGN(ReadyStep one, ready(step));
    all.push_back(std::move(one));
  }
  const CudaStream& first = queues_.front().stream;
  const bool by_device = timing_ == Timing::kByDevice;
  std::set<const CudaStream*> used;  // waiting for an idle one takes time too
  if (by_device) used.insert(&first);
  for (const ReadyStep& step : all) used.insert(step.stream);
  LaunchTime time;
  const TimePoint begin = SteadyClock::now();
  if (by_device) RIDGE_TRY(first.record(begin_));
  for (int i = 0; i < repeats; ++i)
    for (ReadyStep& step : all) RIDGE_TRY(start(step));
  if (by_device) RIDGE_TRY(first.record(end_));
  for (const CudaStream* stream : used) RIDGE_TRY(stream->synchronize());
  time.whole_seconds = to_seconds(SteadyClock::now() - begin);
  if (by_device) {
    RIDGE_ASSIGN(time.device_seconds, end_.seconds_since(begin_));
  }
  return time;
}

Result<Recording> CudaWorkspace::record(std::span<const Launch> launches, int times) {
  std::vector<ReadyLaunch> all;
  for (const Launch& launch : launches) {
    RIDGE_ASSIGN(ReadyLaunch one, ready(launch));
    all.push_back(std::move(one));
  }
  const CudaStream& first = queues_.front().stream;
  RIDGE_ASSIGN(CudaGraph graph, first.capture([&]() -> Status {
    for (int i = 0; i < times; ++i)
      for (ReadyLaunch& launch : all) RIDGE_TRY(launch.on(first, buffers_));
    return {};
  }));
  recordings_.push_back(std::move(graph));
  return Recording{recordings_.size() - 1};
}

}  // namespace ridge::gpu::cuda
