#include "gpu/cuda/workspace.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>
#include <map>

#include "base/clock.h"

namespace ridge::gpu::cuda {

struct CudaWorkspace::State {
  CudaContext context;
  int capability = 0, newest_cuda = 0;
  CudaStream stream;
  CudaEvent begin, end;
  std::vector<CudaMemory> buffers;
  CudaModule module;
  std::map<std::string, CudaKernel> kernels;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // What was queued when a launch failed may still use buffers and kernels.
  ~State() {
    if (stream.handle() == nullptr) return;
    [[maybe_unused]] Status ended = stream.synchronize();
  }
  Result<const CudaKernel*> kernel_for(const Launch& launch);
};

namespace {

// A launch with what the driver wants in the place of its arguments.
class ReadyLaunch {
 public:
  ReadyLaunch(const Launch& launch, const CudaKernel& kernel, std::span<const CudaMemory> buffers)
      : launch_(launch), kernel_(kernel), values_(launch.arguments.size()), pointers_(launch.arguments.size()) {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (const auto* number = std::get_if<BufferNumber>(&launch.arguments[i])) {
        assert(number->value < buffers.size());
        values_[i] = buffers[number->value].address();
      } else {
        std::visit([&](const auto& value) { std::memcpy(&values_[i], &value, sizeof value); }, launch.arguments[i]);
      }
      pointers_[i] = &values_[i];
    }
  }
  Status on(const CudaStream& stream) {
    return stream.launch(kernel_, launch_.blocks, launch_.threads, pointers_, launch_.dynamic_shared_bytes);
  }
  Error failed(const Error& error) const {
    const Extent& threads = launch_.threads;
    return wrap(error,
                fmt::format("{} with {} × {} × {} threads per block", launch_.kernel, threads.x, threads.y, threads.z));
  }

 private:
  const Launch& launch_;
  const CudaKernel& kernel_;
  std::vector<uint64_t> values_;  // as wide as the widest argument
  std::vector<void*> pointers_;   // into values_
};

}  // namespace

Result<const CudaKernel*> CudaWorkspace::State::kernel_for(const Launch& launch) {
  auto found = kernels.find(launch.kernel);
  if (found == kernels.end()) {
    RIDGE_ASSIGN(CudaKernel kernel, module.kernel(launch.kernel));
    found = kernels.emplace(launch.kernel, std::move(kernel)).first;
  }
  constexpr size_t kAlwaysAllowed = 48 << 10;  // CUDA C++ Programming Guide, technical specifications per capability
  if (launch.dynamic_shared_bytes > kAlwaysAllowed)
    RIDGE_TRY(found->second.allow_dynamic_shared(launch.dynamic_shared_bytes));
  return &found->second;
}

CudaWorkspace::CudaWorkspace(std::unique_ptr<State> state) : state_(std::move(state)) {}
CudaWorkspace::CudaWorkspace(CudaWorkspace&& other) noexcept = default;
CudaWorkspace& CudaWorkspace::operator=(CudaWorkspace&& other) noexcept = default;
CudaWorkspace::~CudaWorkspace() = default;

const CudaStream& CudaWorkspace::stream() const { return state_->stream; }
const CudaContext& CudaWorkspace::context() const { return state_->context; }

Result<CudaWorkspace> CudaWorkspace::open(const CudaContext& context, int capability, int newest_cuda) {
  auto state = std::make_unique<State>();
  state->context = context;
  state->capability = capability;
  state->newest_cuda = newest_cuda;
  RIDGE_ASSIGN(state->stream, CudaStream::create(context));
  RIDGE_ASSIGN(state->begin, CudaEvent::create(context));
  RIDGE_ASSIGN(state->end, CudaEvent::create(context));
  return CudaWorkspace(std::move(state));
}

Result<BufferNumber> CudaWorkspace::add_bytes(size_t size, CudaMemoryKind kind) {
  RIDGE_ASSIGN(CudaMemory memory, CudaMemory::allocate(state_->context, size, kind));
  return adopt(std::move(memory));
}

BufferNumber CudaWorkspace::adopt(CudaMemory memory) {
  state_->buffers.push_back(std::move(memory));
  return {state_->buffers.size() - 1};
}

Result<BufferNumber> CudaWorkspace::add(std::span<const float> content) {
  RIDGE_ASSIGN(BufferNumber number, add_bytes(content.size_bytes()));
  RIDGE_TRY(write(number, content));
  return number;
}

CudaMemory& CudaWorkspace::memory(BufferNumber buffer) { return state_->buffers.at(buffer.value); }

Status CudaWorkspace::write(BufferNumber buffer, std::span<const float> content) {
  return memory(buffer).write(std::as_bytes(content));
}

Status CudaWorkspace::read(BufferNumber buffer, std::span<float> content) const {
  return state_->buffers.at(buffer.value).read(std::as_writable_bytes(content));
}

Status CudaWorkspace::build(const std::string& source, const std::vector<std::string>& options) {
  Result<Nvrtc> opened = Nvrtc::open("", state_->newest_cuda);
  if (!opened)
    return wrap(opened.error(), fmt::format("NVRTC, which compiles the kernels, for the driver's CUDA {} or older; pip "
                                            "install nvidia-cuda-nvrtc brings it, RIDGE_NVRTC names it",
                                            state_->newest_cuda));
  const Nvrtc& nvrtc = *opened;
  RIDGE_ASSIGN(CudaTarget target, choose_target(nvrtc.architectures(), state_->capability));
  RIDGE_ASSIGN(CudaProgram program, nvrtc.compile(source, "program.cu", target.architecture, options));
  return load(target.exact ? program.machine_code : program.ptx);
}

Status CudaWorkspace::load(const std::string& image) {
  state_->kernels.clear();
  RIDGE_ASSIGN(state_->module, CudaModule::load(state_->context, image));
  return {};
}

Result<CudaKernel> CudaWorkspace::kernel(const std::string& name) const { return state_->module.kernel(name); }

Status CudaWorkspace::queue(const CudaStream& stream, std::span<const Launch> launches, int repeats) {
  std::vector<ReadyLaunch> ready;
  ready.reserve(launches.size());
  for (const Launch& launch : launches) {
    RIDGE_ASSIGN(const CudaKernel* kernel, state_->kernel_for(launch));
    ready.emplace_back(launch, *kernel, state_->buffers);
  }
  for (int i = 0; i < repeats; ++i)
    for (ReadyLaunch& launch : ready)
      if (Status queued = launch.on(stream); !queued) return launch.failed(queued.error());
  return {};
}

Result<LaunchTime> CudaWorkspace::run(std::span<const Launch> launches, int repeats) {
  const CudaStream& stream = state_->stream;
  LaunchTime time;
  const TimePoint begin = SteadyClock::now();
  RIDGE_TRY(stream.record(state_->begin));
  RIDGE_TRY(queue(stream, launches, repeats));
  RIDGE_TRY(stream.record(state_->end));
  RIDGE_TRY(stream.synchronize());
  time.whole_seconds = to_seconds(SteadyClock::now() - begin);
  RIDGE_ASSIGN(time.device_seconds, state_->end.seconds_since(state_->begin));
  return time;
}

}  // namespace ridge::gpu::cuda
