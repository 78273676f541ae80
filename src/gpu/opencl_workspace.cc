#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "base/clock.h"
#include "gpu/opencl.h"
#include "gpu/opencl_state.h"

namespace ridge::gpu {

using opencl::Handle;
using opencl::kSuccess;

namespace {

constexpr size_t kMostQueued = 1000;  // launches whose events are kept at the same time

Result<double> device_seconds(const opencl::Library& library, const OpenClObject& event) {
  uint64_t begin_ns = 0, end_ns = 0;
  for (auto [what, time] : {std::pair(opencl::kCommandStart, &begin_ns), std::pair(opencl::kCommandEnd, &end_ns)})
    if (int32_t code = library.clGetEventProfilingInfo(event.get(), what, sizeof *time, time, nullptr);
        code != kSuccess)
      return opencl_error("clGetEventProfilingInfo", code);
  return 1e-9 * static_cast<double>(end_ns - begin_ns);
}

}  // namespace

Status OpenClWorkspace::State::start(Handle on, OpenClTiming with) {
  device = on;
  timing = with;
  int32_t code = kSuccess;
  context =
      OpenClObject(library->clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code), library->clReleaseContext);
  if (code != kSuccess) return opencl_error("clCreateContext", code);
  const opencl::Bits properties = timing == OpenClTiming::kByDevice ? opencl::kProfiling : 0;
  queue = OpenClObject(library->clCreateCommandQueue(context.get(), device, properties, &code),
                       library->clReleaseCommandQueue);
  if (code != kSuccess) return opencl_error("clCreateCommandQueue", code);
  return {};
}

Result<Handle> OpenClWorkspace::State::kernel_for(const Launch& launch) {
  int32_t code = kSuccess;
  auto found = kernels.find(launch.kernel);
  if (found == kernels.end()) {
    Handle made = library->clCreateKernel(program.get(), launch.kernel.c_str(), &code);
    if (code != kSuccess)
      return Error{Code::kNotFound, fmt::format("the program has no kernel {} (OpenCL code {})", launch.kernel, code)};
    found = kernels.emplace(launch.kernel, OpenClObject(made, library->clReleaseKernel)).first;
  }
  Handle kernel = found->second.get();
  for (uint32_t i = 0; code == kSuccess && i < launch.arguments.size(); ++i) {
    const Argument& argument = launch.arguments[i];
    if (const auto* number = std::get_if<BufferNumber>(&argument)) {
      assert(number->value < buffers.size());
      Handle buffer = buffers[number->value].get();
      code = library->clSetKernelArg(kernel, i, sizeof buffer, &buffer);
    } else {
      code = std::visit([&](const auto& value) { return library->clSetKernelArg(kernel, i, sizeof value, &value); },
                        argument);
    }
    if (code != kSuccess)
      return wrap(opencl_error("clSetKernelArg", code), fmt::format("argument {} of {}", i, launch.kernel));
  }
  return kernel;
}

Status OpenClWorkspace::State::queue_all(std::span<const Launch> launches, std::vector<OpenClObject>& events) {
  for (const Launch& launch : launches) {
    RIDGE_ASSIGN(Handle kernel, kernel_for(launch));
    const Extent &blocks = launch.blocks, &threads = launch.threads;
    const size_t all[] = {blocks.x * threads.x, blocks.y * threads.y, blocks.z * threads.z};
    const size_t of_block[] = {threads.x, threads.y, threads.z};
    Handle event = nullptr;
    const bool timed = timing == OpenClTiming::kByDevice;
    int32_t code = library->clEnqueueNDRangeKernel(queue.get(), kernel, 3, nullptr, all, of_block, 0, nullptr,
                                                   timed ? &event : nullptr);
    if (code != kSuccess)
      return wrap(
          opencl_error("clEnqueueNDRangeKernel", code),
          fmt::format("{} with {} × {} × {} threads per block", launch.kernel, threads.x, threads.y, threads.z));
    if (timed) events.emplace_back(event, library->clReleaseEvent);
  }
  return {};
}

OpenClWorkspace::OpenClWorkspace(std::unique_ptr<State> state) : state_(std::move(state)) {}
OpenClWorkspace::OpenClWorkspace(OpenClWorkspace&& other) noexcept = default;
OpenClWorkspace& OpenClWorkspace::operator=(OpenClWorkspace&& other) noexcept = default;
OpenClWorkspace::~OpenClWorkspace() = default;

Result<BufferNumber> OpenClWorkspace::State::add_buffer(size_t bytes) {
  int32_t code = kSuccess;
  Handle buffer = library->clCreateBuffer(context.get(), opencl::kReadWrite, bytes, nullptr, &code);
  if (code != kSuccess) return wrap(opencl_error("clCreateBuffer", code), fmt::format("{} bytes", bytes));
  buffers.emplace_back(buffer, library->clReleaseMemObject);
  sizes.push_back(bytes);
  return BufferNumber{buffers.size() - 1};
}

Result<BufferNumber> OpenClWorkspace::add(std::span<const float> content) {
  RIDGE_ASSIGN(BufferNumber number, state_->add_buffer(content.size_bytes()));
  RIDGE_TRY(write(number, content));
  return number;
}

Result<BufferNumber> OpenClWorkspace::add_bytes(size_t size) { return state_->add_buffer(size); }

Result<double> OpenClWorkspace::copy(BufferNumber from, BufferNumber to, size_t bytes) {
  State& state = *state_;
  assert(bytes <= std::min(state.sizes.at(from.value), state.sizes.at(to.value)));
  const TimePoint begin = Clock::now();
  int32_t code = state.library->clEnqueueCopyBuffer(state.queue.get(), state.buffers[from.value].get(),
                                                    state.buffers[to.value].get(), 0, 0, bytes, 0, nullptr, nullptr);
  if (code == kSuccess) code = state.library->clFinish(state.queue.get());
  if (code != kSuccess) return opencl_error("clEnqueueCopyBuffer", code);
  return to_seconds(Clock::now() - begin);
}

Status OpenClWorkspace::write(BufferNumber buffer, std::span<const float> content) {
  State& state = *state_;
  assert(content.size_bytes() <= state.sizes.at(buffer.value));
  int32_t code =
      state.library->clEnqueueWriteBuffer(state.queue.get(), state.buffers[buffer.value].get(), opencl::kBlocking, 0,
                                          content.size_bytes(), content.data(), 0, nullptr, nullptr);
  return code == kSuccess ? Status{} : opencl_error("clEnqueueWriteBuffer", code);
}

Status OpenClWorkspace::read(BufferNumber buffer, std::span<float> content) const {
  const State& state = *state_;
  assert(content.size_bytes() <= state.sizes.at(buffer.value));
  int32_t code =
      state.library->clEnqueueReadBuffer(state.queue.get(), state.buffers[buffer.value].get(), opencl::kBlocking, 0,
                                         content.size_bytes(), content.data(), 0, nullptr, nullptr);
  return code == kSuccess ? Status{} : opencl_error("clEnqueueReadBuffer", code);
}

Status OpenClWorkspace::build(const std::string& source, const std::string& options) {
  State& state = *state_;
  const opencl::Library& library = *state.library;
  const char* text = source.c_str();
  const size_t size = source.size();
  int32_t code = kSuccess;
  state.kernels.clear();
  state.program = OpenClObject(library.clCreateProgramWithSource(state.context.get(), 1, &text, &size, &code),
                               library.clReleaseProgram);
  if (code != kSuccess) return opencl_error("clCreateProgramWithSource", code);
  Handle program = state.program.get();
  code = library.clBuildProgram(program, 1, &state.device, options.c_str(), nullptr, nullptr);
  if (code == kSuccess) return {};
  size_t log_size = 0;
  library.clGetProgramBuildInfo(program, state.device, opencl::kBuildLog, 0, nullptr, &log_size);
  std::string log(log_size, '\0');
  if (log_size > 0)
    library.clGetProgramBuildInfo(program, state.device, opencl::kBuildLog, log_size, log.data(), nullptr);
  return Error{code == opencl::kBuildProgramFailure ? Code::kInvalid : Code::kFailed,
               fmt::format("clBuildProgram: OpenCL code {}:\n{}", code, log.c_str())};
}

Result<LaunchTime> OpenClWorkspace::run(std::span<const Launch> launches, int repeats) {
  State& state = *state_;
  LaunchTime time;
  for (int done = 0; done < repeats;) {
    int most = static_cast<int>(std::max<size_t>(1, kMostQueued / std::max<size_t>(1, launches.size())));
    int part = std::min(repeats - done, most);
    std::vector<OpenClObject> events;
    events.reserve(launches.size() * static_cast<size_t>(part));
    const TimePoint begin = Clock::now();
    for (int i = 0; i < part; ++i) RIDGE_TRY(state.queue_all(launches, events));
    if (int32_t code = state.library->clFinish(state.queue.get()); code != kSuccess)
      return opencl_error("clFinish", code);
    time.whole_seconds += to_seconds(Clock::now() - begin);
    for (const OpenClObject& event : events) {
      RIDGE_ASSIGN(double seconds, device_seconds(*state.library, event));
      time.device_seconds += seconds;
    }
    done += part;
  }
  return time;
}

}  // namespace ridge::gpu
