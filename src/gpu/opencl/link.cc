#include "gpu/opencl/link.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/tensor.h"
#include "gpu/opencl/state.h"

namespace ridge::gpu::opencl {

struct OpenClLink::State {
  // One direction: a queue of its own, so that both can be under way at the same time.
  struct Lane {
    OpenClObject<cl_command_queue> queue;
    OpenClObject<cl_mem> device, pinned;
    Buffer pageable;
    std::byte* mapped = nullptr;  // of `pinned`
    std::byte* host(HostMemory memory) { return memory == HostMemory::kPinned ? mapped : pageable.data(); }
  };
  State(std::shared_ptr<const opencl::Library> opened, size_t size) : library(std::move(opened)), bytes(size) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();
  Status start(cl_device_id on);
  Status start(Lane& lane, cl_device_id on);
  // Queues a copy over the lane, which goes on by itself.
  Status send(Lane& lane, HostMemory memory);
  Status fetch(Lane& lane, HostMemory memory, cl_mem from);
  Status finish(Lane& lane);

  std::shared_ptr<const opencl::Library> library;
  size_t bytes;
  OpenClObject<cl_context> context;
  Lane to_device, to_host;
};

OpenClLink::State::~State() {
  for (Lane* lane : {&to_device, &to_host}) {
    if (lane->mapped == nullptr) continue;
    library->clEnqueueUnmapMemObject(lane->queue.get(), lane->pinned.get(), lane->mapped, 0, nullptr, nullptr);
    library->clFinish(lane->queue.get());
  }
}

Status OpenClLink::State::start(cl_device_id on) {
  cl_int code = CL_SUCCESS;
  context = OpenClObject(library->clCreateContext(nullptr, 1, &on, nullptr, nullptr, &code), library->clReleaseContext);
  if (code != CL_SUCCESS) return opencl_error("clCreateContext", code);
  RIDGE_TRY(start(to_device, on));
  return start(to_host, on);
}

Status OpenClLink::State::start(Lane& lane, cl_device_id on) {
  cl_int code = CL_SUCCESS;
  lane.queue = OpenClObject(library->clCreateCommandQueue(context.get(), on, 0, &code), library->clReleaseCommandQueue);
  if (code != CL_SUCCESS) return opencl_error("clCreateCommandQueue", code);
  lane.device = OpenClObject(library->clCreateBuffer(context.get(), CL_MEM_READ_WRITE, bytes, nullptr, &code),
                             library->clReleaseMemObject);
  if (code != CL_SUCCESS) return wrap(opencl_error("clCreateBuffer", code), fmt::format("{} bytes", bytes));
  lane.pinned = OpenClObject(
      library->clCreateBuffer(context.get(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &code),
      library->clReleaseMemObject);
  if (code != CL_SUCCESS) return wrap(opencl_error("clCreateBuffer", code), fmt::format("{} pinned bytes", bytes));
  lane.mapped = static_cast<std::byte*>(library->clEnqueueMapBuffer(
      lane.queue.get(), lane.pinned.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, nullptr, nullptr, &code));
  if (code != CL_SUCCESS) return opencl_error("clEnqueueMapBuffer", code);
  lane.pageable = Buffer(bytes);
  std::fill_n(lane.pageable.data(), bytes, std::byte{0});  // touched: pages that are not there would be timed else
  std::fill_n(lane.mapped, bytes, std::byte{0});
  return {};
}

Status OpenClLink::State::send(Lane& lane, HostMemory memory) {
  cl_int code = library->clEnqueueWriteBuffer(lane.queue.get(), lane.device.get(), CL_FALSE, 0, bytes,
                                              lane.host(memory), 0, nullptr, nullptr);
  if (code == CL_SUCCESS) code = library->clFlush(lane.queue.get());
  return code == CL_SUCCESS ? Status{} : opencl_error("clEnqueueWriteBuffer", code);
}

Status OpenClLink::State::fetch(Lane& lane, HostMemory memory, cl_mem from) {
  cl_int code =
      library->clEnqueueReadBuffer(lane.queue.get(), from, CL_FALSE, 0, bytes, lane.host(memory), 0, nullptr, nullptr);
  if (code == CL_SUCCESS) code = library->clFlush(lane.queue.get());
  return code == CL_SUCCESS ? Status{} : opencl_error("clEnqueueReadBuffer", code);
}

Status OpenClLink::State::finish(Lane& lane) {
  cl_int code = library->clFinish(lane.queue.get());
  return code == CL_SUCCESS ? Status{} : opencl_error("clFinish", code);
}

Result<OpenClLink> OpenCl::link(size_t index, size_t bytes) const {
  RIDGE_ASSIGN(cl_device_id device, handle(index));
  auto state = std::make_unique<OpenClLink::State>(library_, bytes);
  RIDGE_TRY(state->start(device));
  return OpenClLink(std::move(state));
}

OpenClLink::OpenClLink(std::unique_ptr<State> state) : state_(std::move(state)) {}
OpenClLink::OpenClLink(OpenClLink&& other) noexcept = default;
OpenClLink& OpenClLink::operator=(OpenClLink&& other) noexcept = default;
OpenClLink::~OpenClLink() = default;

size_t OpenClLink::bytes() const { return state_->bytes; }

Result<double> OpenClLink::seconds(Way way, HostMemory memory) {
  State& state = *state_;
  const TimePoint begin = SteadyClock::now();
  if (way != Way::kToHost) RIDGE_TRY(state.send(state.to_device, memory));
  if (way != Way::kToDevice) RIDGE_TRY(state.fetch(state.to_host, memory, state.to_host.device.get()));
  if (way != Way::kToHost) RIDGE_TRY(state.finish(state.to_device));
  if (way != Way::kToDevice) RIDGE_TRY(state.finish(state.to_host));
  return to_seconds(SteadyClock::now() - begin);
}

Status OpenClLink::check(HostMemory memory) {
  State& state = *state_;
  std::byte* sent = state.to_device.host(memory);
  std::byte* got = state.to_host.host(memory);
  for (size_t i = 0; i < state.bytes; ++i) sent[i] = static_cast<std::byte>((i * 31 + i / 4096) & 0xFF);
  std::fill_n(got, state.bytes, std::byte{0});
  RIDGE_TRY(state.send(state.to_device, memory));
  RIDGE_TRY(state.finish(state.to_device));
  RIDGE_TRY(state.fetch(state.to_host, memory, state.to_device.device.get()));
  RIDGE_TRY(state.finish(state.to_host));
  auto [wrong, expected] = std::mismatch(got, got + state.bytes, sent);
  if (wrong == got + state.bytes) return {};
  return Error{Code::kFailed, fmt::format("byte {} of {} was read back from the device as {} instead of {} ({} memory)",
                                          wrong - got, state.bytes, static_cast<int>(*wrong),
                                          static_cast<int>(*expected), host_memory_name(memory))};
}

}  // namespace ridge::gpu::opencl
