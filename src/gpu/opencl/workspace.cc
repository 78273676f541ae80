#include "gpu/opencl/workspace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"

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

Result<std::unique_ptr<Workspace>> OpenClWorkspace::open(std::shared_ptr<const opencl::Library> library,
                                                         cl_device_id device, bool unified_memory, Timing timing) {
  std::unique_ptr<OpenClWorkspace> made(new OpenClWorkspace(std::move(library), device, unified_memory, timing));
  cl_int code = CL_SUCCESS;
  made->context_ = OpenClObject(made->library_->clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code),
                                made->library_->clReleaseContext);
  if (code != CL_SUCCESS) return opencl_error("clCreateContext", code);
  return std::unique_ptr<Workspace>(std::move(made));
}

Result<cl_command_queue> OpenClWorkspace::queue(size_t number) {
  while (queues_.size() <= number) {
    cl_int code = CL_SUCCESS;
    const cl_command_queue_properties properties = timing_ == Timing::kByDevice ? CL_QUEUE_PROFILING_ENABLE : 0;
    cl_command_queue made = library_->clCreateCommandQueue(context_.get(), device_, properties, &code);
    if (code != CL_SUCCESS) return opencl_error("clCreateCommandQueue", code);
    queues_.emplace_back(made, library_->clReleaseCommandQueue);
  }
  return queues_[number].get();
}

Status OpenClWorkspace::set_argument(cl_kernel kernel, const Launch& launch, uint32_t index) {
  const Argument& argument = launch.arguments[index];
  cl_int code = CL_SUCCESS;
  if (const auto* number = std::get_if<BufferNumber>(&argument)) {
    OpenClBuffer& buffer = buffers_.at(number->value);
    cl_mem object = buffer.object.get();
    if (buffer.host() != nullptr) return invalid(launch.kernel + ": a kernel cannot take memory of the host");
    code = buffer.kind == MemoryKind::kUnified ? library_->clSetKernelArgSVMPointer(kernel, index, buffer.address.get())
                                               : library_->clSetKernelArg(kernel, index, sizeof(cl_mem), &object);
  } else if (std::holds_alternative<BoxedMatrix>(argument)) {
    return Error{Code::kUnsupported, launch.kernel + ": OpenCL has no tensor maps"};
  } else {
    code = std::visit([&](const auto& value) { return library_->clSetKernelArg(kernel, index, sizeof value, &value); },
                      argument);
  }
  if (code == CL_SUCCESS) return {};
  return wrap(opencl_error("clSetKernelArg", code), fmt::format("argument {} of {}", index, launch.kernel));
}

Result<cl_kernel> OpenClWorkspace::kernel_for(const Launch& launch) {
  auto found = kernels_.find(launch.kernel);
  if (found == kernels_.end()) {
    cl_int code = CL_SUCCESS;
    cl_kernel made = library_->clCreateKernel(program_.get(), launch.kernel.c_str(), &code);
    if (code != CL_SUCCESS)
      return Error{Code::kNotFound, fmt::format("the program has no kernel {} (OpenCL code {})", launch.kernel, code)};
    found = kernels_.emplace(launch.kernel, OpenClObject(made, library_->clReleaseKernel)).first;
  }
  cl_kernel kernel = found->second.get();
  for (uint32_t i = 0; i < launch.arguments.size(); ++i) RIDGE_TRY(set_argument(kernel, launch, i));
  return kernel;
}

Status OpenClWorkspace::queue_launch(const Launch& launch, cl_command_queue on, Events& events) {
  RIDGE_ASSIGN(cl_kernel kernel, kernel_for(launch));
  const Extent &blocks = launch.blocks, &threads = launch.threads;
  const size_t all[] = {blocks.x * threads.x, blocks.y * threads.y, blocks.z * threads.z};
  const size_t of_block[] = {threads.x, threads.y, threads.z};
  cl_event event = nullptr;
  const bool timed = timing_ == Timing::kByDevice;
  cl_int code =
      library_->clEnqueueNDRangeKernel(on, kernel, 3, nullptr, all, of_block, 0, nullptr, timed ? &event : nullptr);
  if (code != CL_SUCCESS)
    return wrap(opencl_error("clEnqueueNDRangeKernel", code),
                fmt::format("{} with {} × {} × {} threads per block", launch.kernel, threads.x, threads.y, threads.z));
  if (timed) events.emplace_back(event, library_->clReleaseEvent);
  return {};
}

Status OpenClWorkspace::queue_all(std::span<const Step> steps, Events& events) {
  for (const Step& step : steps) {
    RIDGE_ASSIGN(cl_command_queue on, queue(step.queue));
    if (const auto* launch = std::get_if<Launch>(&step.operation))
      RIDGE_TRY(queue_launch(*launch, on, events));
    else if (const auto* part = std::get_if<Copy>(&step.operation))
      RIDGE_TRY(copy(on, *part));
    else if (const auto* ahead = std::get_if<Prefetch>(&step.operation))
      RIDGE_TRY(prefetch(on, *ahead));
    else if (const auto* again = std::get_if<Reallocate>(&step.operation))
      RIDGE_TRY(renew(*again));
    else
      return Error{Code::kUnsupported, "OpenCL has neither a library of matrix multiplications nor recorded launches"};
  }
  return {};
}

Status OpenClWorkspace::finish() {
  // All are submitted before waiting for the first, or they would run in sequence.
  for (const OpenClObject<cl_command_queue>& one : queues_)
    if (cl_int code = library_->clFlush(one.get()); code != CL_SUCCESS) return opencl_error("clFlush", code);
  for (const OpenClObject<cl_command_queue>& one : queues_)
    if (cl_int code = library_->clFinish(one.get()); code != CL_SUCCESS) return opencl_error("clFinish", code);
  return {};
}

Status OpenClWorkspace::build(const std::string& source) {
  const char* text = source.c_str();
  const size_t size = source.size();
  cl_int code = CL_SUCCESS;
  kernels_.clear();
  program_ = OpenClObject(library_->clCreateProgramWithSource(context_.get(), 1, &text, &size, &code),
                          library_->clReleaseProgram);
  if (code != CL_SUCCESS) return opencl_error("clCreateProgramWithSource", code);
  cl_program program = program_.get();
  code = library_->clBuildProgram(program, 1, &device_, "", nullptr, nullptr);
  if (code == CL_SUCCESS) return {};
  size_t log_size = 0;
  library_->clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &log_size);
  std::string log(log_size, '\0');
  if (log_size > 0)
    library_->clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, log_size, log.data(), nullptr);
  return Error{code == CL_BUILD_PROGRAM_FAILURE ? Code::kInvalid : Code::kFailed,
               fmt::format("clBuildProgram: OpenCL code {}:\n{}", code, log.c_str())};
}

Result<LaunchTime> OpenClWorkspace::run(std::span<const Step> steps, int repeats) {
  LaunchTime time;
  for (int done = 0; done < repeats;) {
    int most = static_cast<int>(std::max<size_t>(1, kMostQueued / std::max<size_t>(1, steps.size())));
    int part = std::min(repeats - done, most);
    Events events;
    events.reserve(steps.size() * static_cast<size_t>(part));
    const TimePoint begin = SteadyClock::now();
    for (int i = 0; i < part; ++i) RIDGE_TRY(queue_all(steps, events));
    RIDGE_TRY(finish());
    time.whole_seconds += to_seconds(SteadyClock::now() - begin);
    for (const OpenClObject<cl_event>& event : events) {
      RIDGE_ASSIGN(double seconds, device_seconds(*library_, event));
      time.device_seconds += seconds;
    }
    done += part;
  }
  return time;
}

}  // namespace ridge::gpu::opencl
