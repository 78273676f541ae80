#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "base/clock.h"
#include "gpu/opencl/opencl.h"
#include "gpu/opencl/state.h"

namespace ridge::gpu::opencl {

namespace {

constexpr size_t kMostQueued = 1000;  // launches whose events are kept at the same time

Result<double> device_seconds(const opencl::Library& library, const OpenClObject<cl_event>& event) {
  cl_ulong begin_ns = 0, end_ns = 0;
  for (auto [what, time] :
       {std::pair(CL_PROFILING_COMMAND_START, &begin_ns), std::pair(CL_PROFILING_COMMAND_END, &end_ns)})
    if (cl_int code = library.clGetEventProfilingInfo(event.get(), what, sizeof *time, time, nullptr);
        code != CL_SUCCESS)
      return opencl_error("clGetEventProfilingInfo", code);
  return 1e-9 * static_cast<double>(end_ns - begin_ns);
}

}  // namespace

Status OpenClWorkspace::State::start(cl_device_id on) {
  device = on;
  cl_int code = CL_SUCCESS;
  context =
      OpenClObject(library->clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code), library->clReleaseContext);
  return code == CL_SUCCESS ? Status{} : opencl_error("clCreateContext", code);
}

Result<cl_command_queue> OpenClWorkspace::State::queue(size_t number) {
  while (queues.size() <= number) {
    cl_int code = CL_SUCCESS;
    const cl_command_queue_properties properties = timing == OpenClTiming::kByDevice ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_command_queue made = library->clCreateCommandQueue(context.get(), device, properties, &code);
    if (code != CL_SUCCESS) return opencl_error("clCreateCommandQueue", code);
    queues.emplace_back(made, library->clReleaseCommandQueue);
  }
  return queues[number].get();
}

Status OpenClWorkspace::State::set_argument(cl_kernel kernel, const Launch& launch, uint32_t index) {
  const Argument& argument = launch.arguments[index];
  cl_int code = CL_SUCCESS;
  if (const auto* number = std::get_if<BufferNumber>(&argument)) {
    OpenClBuffer& buffer = buffers.at(number->value);
    cl_mem object = buffer.object.get();
    if (buffer.host_address() != nullptr)
      return Error{Code::kInvalid, fmt::format("argument {} of {} is in host memory", index, launch.kernel)};
    code = buffer.kind == MemoryKind::kUnified ? library->clSetKernelArgSVMPointer(kernel, index, buffer.address.get())
                                               : library->clSetKernelArg(kernel, index, sizeof(cl_mem), &object);
  } else {
    code = std::visit([&](const auto& value) { return library->clSetKernelArg(kernel, index, sizeof value, &value); },
                      argument);
  }
  if (code == CL_SUCCESS) return {};
  return wrap(opencl_error("clSetKernelArg", code), fmt::format("argument {} of {}", index, launch.kernel));
}

Result<cl_kernel> OpenClWorkspace::State::kernel_for(const Launch& launch) {
  auto found = kernels.find(launch.kernel);
  if (found == kernels.end()) {
    cl_int code = CL_SUCCESS;
    cl_kernel made = library->clCreateKernel(program.get(), launch.kernel.c_str(), &code);
    if (code != CL_SUCCESS)
      return Error{Code::kNotFound, fmt::format("the program has no kernel {} (OpenCL code {})", launch.kernel, code)};
    found = kernels.emplace(launch.kernel, OpenClObject(made, library->clReleaseKernel)).first;
  }
  cl_kernel kernel = found->second.get();
  for (uint32_t i = 0; i < launch.arguments.size(); ++i) RIDGE_TRY(set_argument(kernel, launch, i));
  return kernel;
}

Status OpenClWorkspace::State::queue_launch(const Launch& launch, cl_command_queue on,
                                            std::vector<OpenClObject<cl_event>>& events) {
  RIDGE_ASSIGN(cl_kernel kernel, kernel_for(launch));
  const Extent &blocks = launch.blocks, &threads = launch.threads;
  const size_t all[] = {blocks.x * threads.x, blocks.y * threads.y, blocks.z * threads.z};
  const size_t of_block[] = {threads.x, threads.y, threads.z};
  cl_event event = nullptr;
  const bool timed = timing == OpenClTiming::kByDevice;
  cl_int code =
      library->clEnqueueNDRangeKernel(on, kernel, 3, nullptr, all, of_block, 0, nullptr, timed ? &event : nullptr);
  if (code != CL_SUCCESS)
    return wrap(opencl_error("clEnqueueNDRangeKernel", code),
                fmt::format("{} with {} × {} × {} threads per block", launch.kernel, threads.x, threads.y, threads.z));
  if (timed) events.emplace_back(event, library->clReleaseEvent);
  return {};
}

Status OpenClWorkspace::State::queue_all(std::span<const Step> steps, std::vector<OpenClObject<cl_event>>& events) {
  for (const Step& step : steps) {
    RIDGE_ASSIGN(cl_command_queue on, queue(step.queue));
    if (const auto* launch = std::get_if<Launch>(&step.operation)) {
      RIDGE_TRY(queue_launch(*launch, on, events));
    } else if (const auto* part = std::get_if<Copy>(&step.operation)) {
      OpenClBuffer &from = buffers.at(part->from.value), &to = buffers.at(part->to.value);
      size_t bytes = part->count > 0 ? part->count * sizeof(float) : std::min(from.bytes, to.bytes);
      RIDGE_TRY(copy(on, from, to, part->first * sizeof(float), bytes));
    } else if (const auto* ahead = std::get_if<Prefetch>(&step.operation)) {
      RIDGE_TRY(prefetch(on, *ahead));
    } else if (const auto* again = std::get_if<Reallocate>(&step.operation)) {
      RIDGE_TRY(renew(*again));
    } else {
      return Error{Code::kUnsupported, "OpenCL has no library of matrix multiplications"};
    }
  }
  return {};
}

Status OpenClWorkspace::State::finish() {
  // All are sent off before the first is waited for, or they would run one after another.
  for (const OpenClObject<cl_command_queue>& one : queues)
    if (cl_int code = library->clFlush(one.get()); code != CL_SUCCESS) return opencl_error("clFlush", code);
  for (const OpenClObject<cl_command_queue>& one : queues)
    if (cl_int code = library->clFinish(one.get()); code != CL_SUCCESS) return opencl_error("clFinish", code);
  return {};
}

OpenClWorkspace::OpenClWorkspace(std::unique_ptr<State> state) : state_(std::move(state)) {}
OpenClWorkspace::OpenClWorkspace(OpenClWorkspace&& other) noexcept = default;
OpenClWorkspace& OpenClWorkspace::operator=(OpenClWorkspace&& other) noexcept = default;
OpenClWorkspace::~OpenClWorkspace() = default;

Result<BufferNumber> OpenClWorkspace::add(std::span<const float> content, MemoryKind kind) {
  RIDGE_ASSIGN(OpenClBuffer made, state_->allocate(kind, content.size_bytes()));
  state_->buffers.push_back(std::move(made));
  BufferNumber number{state_->buffers.size() - 1};
  RIDGE_TRY(write(number, content));
  return number;
}

Result<BufferNumber> OpenClWorkspace::add_bytes(size_t size) {
  RIDGE_ASSIGN(OpenClBuffer made, state_->allocate(MemoryKind::kDevice, size));
  state_->buffers.push_back(std::move(made));
  return BufferNumber{state_->buffers.size() - 1};
}

Result<double> OpenClWorkspace::copy(BufferNumber from, BufferNumber to, size_t bytes) {
  State& state = *state_;
  RIDGE_ASSIGN(cl_command_queue queue, state.queue(0));
  const TimePoint begin = SteadyClock::now();
  RIDGE_TRY(state.copy(queue, state.buffers.at(from.value), state.buffers.at(to.value), 0, bytes));
  RIDGE_TRY(state.finish());
  return to_seconds(SteadyClock::now() - begin);
}

Status OpenClWorkspace::write(BufferNumber buffer, std::span<const float> content) {
  // Only read from, as the direction says.
  return state_->exchange(state_->buffers.at(buffer.value), const_cast<float*>(content.data()), content.size_bytes(),
                          true);
}

Status OpenClWorkspace::read(BufferNumber buffer, std::span<float> content) const {
  return state_->exchange(state_->buffers.at(buffer.value), content.data(), content.size_bytes(), false);
}

Status OpenClWorkspace::build(const std::string& source, const std::string& options) {
  State& state = *state_;
  const opencl::Library& library = *state.library;
  const char* text = source.c_str();
  const size_t size = source.size();
  cl_int code = CL_SUCCESS;
  state.kernels.clear();
  state.program = OpenClObject(library.clCreateProgramWithSource(state.context.get(), 1, &text, &size, &code),
                               library.clReleaseProgram);
  if (code != CL_SUCCESS) return opencl_error("clCreateProgramWithSource", code);
  cl_program program = state.program.get();
  code = library.clBuildProgram(program, 1, &state.device, options.c_str(), nullptr, nullptr);
  if (code == CL_SUCCESS) return {};
  size_t log_size = 0;
  library.clGetProgramBuildInfo(program, state.device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &log_size);
  std::string log(log_size, '\0');
  if (log_size > 0)
    library.clGetProgramBuildInfo(program, state.device, CL_PROGRAM_BUILD_LOG, log_size, log.data(), nullptr);
  return Error{code == CL_BUILD_PROGRAM_FAILURE ? Code::kInvalid : Code::kFailed,
               fmt::format("clBuildProgram: OpenCL code {}:\n{}", code, log.c_str())};
}

Result<LaunchTime> OpenClWorkspace::run(std::span<const Launch> launches, int repeats) {
  std::vector<Step> steps;
  for (const Launch& launch : launches) steps.push_back({launch});
  return run(steps, repeats);
}

Result<LaunchTime> OpenClWorkspace::run_recorded(std::span<const Launch>, int) {
  return Error{Code::kUnsupported, "launches cannot be recorded in OpenCL"};
}

Result<LaunchTime> OpenClWorkspace::run(std::span<const Step> steps, int repeats) {
  State& state = *state_;
  LaunchTime time;
  for (int done = 0; done < repeats;) {
    int most = static_cast<int>(std::max<size_t>(1, kMostQueued / std::max<size_t>(1, steps.size())));
    int part = std::min(repeats - done, most);
    std::vector<OpenClObject<cl_event>> events;
    events.reserve(steps.size() * static_cast<size_t>(part));
    const TimePoint begin = SteadyClock::now();
    for (int i = 0; i < part; ++i) RIDGE_TRY(state.queue_all(steps, events));
    RIDGE_TRY(state.finish());
    time.whole_seconds += to_seconds(SteadyClock::now() - begin);
    for (const OpenClObject<cl_event>& event : events) {
      RIDGE_ASSIGN(double seconds, device_seconds(*state.library, event));
      time.device_seconds += seconds;
    }
    done += part;
  }
  return time;
}

}  // namespace ridge::gpu::opencl
