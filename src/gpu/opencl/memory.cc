// The memory of an OpenCL workspace: buffers of each kind, and what moves between them.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "gpu/opencl/state.h"

namespace ridge::gpu::opencl {

Result<cl_mem> OpenClWorkspace::State::make_object(cl_mem_flags flags, size_t bytes) {
  cl_int code = CL_SUCCESS;
  cl_mem made = library->clCreateBuffer(context.get(), flags, bytes, nullptr, &code);
  if (code != CL_SUCCESS) return wrap(opencl_error("clCreateBuffer", code), fmt::format("{} bytes", bytes));
  return made;
}

Result<OpenClBuffer> OpenClWorkspace::State::allocate(MemoryKind kind, size_t bytes) {
  OpenClBuffer made;
  made.kind = kind;
  made.bytes = bytes;
  if (kind == MemoryKind::kHost) {
    made.host.resize(bytes / sizeof(float));
  } else if (kind == MemoryKind::kUnified) {
    if (!unified_memory) return Error{Code::kUnsupported, "this OpenCL device shares no addresses with the host (SVM)"};
    void* address = library->clSVMAlloc(context.get(), CL_MEM_READ_WRITE, bytes, 0);
    if (address == nullptr) return Error{Code::kExhausted, fmt::format("clSVMAlloc: no {} bytes", bytes)};
    made.address = {address, [this](void* memory) { library->clSVMFree(context.get(), memory); }};
  } else {
    bool pinned = kind == MemoryKind::kPinned;
    RIDGE_ASSIGN(cl_mem object, make_object(CL_MEM_READ_WRITE | (pinned ? CL_MEM_ALLOC_HOST_PTR : 0), bytes));
    made.object = OpenClObject(object, library->clReleaseMemObject);
    if (!pinned) return made;
    RIDGE_ASSIGN(cl_command_queue on, queue(0));
    cl_int code = CL_SUCCESS;
    void* mapped = library->clEnqueueMapBuffer(on, object, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, nullptr,
                                               nullptr, &code);
    if (code != CL_SUCCESS) return opencl_error("clEnqueueMapBuffer", code);
    made.address = {mapped, [this, on, object](void* memory) {
                      library->clEnqueueUnmapMemObject(on, object, memory, 0, nullptr, nullptr);
                      library->clFinish(on);
                    }};
  }
  return made;
}

Status OpenClWorkspace::State::touch(cl_command_queue on, void* unified, void* memory, size_t bytes, bool write) {
  cl_int code =
      library->clEnqueueSVMMap(on, CL_TRUE, write ? CL_MAP_WRITE : CL_MAP_READ, unified, bytes, 0, nullptr, nullptr);
  if (code != CL_SUCCESS) return opencl_error("clEnqueueSVMMap", code);
  std::memcpy(write ? unified : memory, write ? memory : unified, bytes);
  code = library->clEnqueueSVMUnmap(on, unified, 0, nullptr, nullptr);
  return code == CL_SUCCESS ? Status{} : opencl_error("clEnqueueSVMUnmap", code);
}

Status OpenClWorkspace::State::copy(cl_command_queue on, OpenClBuffer& from, OpenClBuffer& to, size_t at,
                                    size_t bytes) {
  assert(at + bytes <= std::min(from.bytes, to.bytes));
  auto behind = [&](void* address) { return static_cast<char*>(address) + at; };
  void *source = from.host_address(), *target = to.host_address();
  if (from.kind == MemoryKind::kUnified || to.kind == MemoryKind::kUnified) {
    bool out = from.kind == MemoryKind::kUnified;
    void* host = out ? target : source;
    if (host == nullptr) return Error{Code::kInvalid, "unified memory is copied only to and from host memory"};
    return touch(on, behind((out ? from : to).address.get()), behind(host), bytes, !out);
  }
  if (source != nullptr && target != nullptr)
    return Error{Code::kInvalid, "a copy from host memory to host memory needs no device"};
  cl_int code = CL_SUCCESS;
  if (source != nullptr)
    code = library->clEnqueueWriteBuffer(on, to.object.get(), CL_FALSE, at, bytes, behind(source), 0, nullptr, nullptr);
  else if (target != nullptr)
    code =
        library->clEnqueueReadBuffer(on, from.object.get(), CL_FALSE, at, bytes, behind(target), 0, nullptr, nullptr);
  else
    code = library->clEnqueueCopyBuffer(on, from.object.get(), to.object.get(), at, at, bytes, 0, nullptr, nullptr);
  return code == CL_SUCCESS ? Status{} : opencl_error("copy of a buffer", code);
}

Status OpenClWorkspace::State::prefetch(cl_command_queue on, const Prefetch& prefetch) {
  if (!library->clEnqueueSVMMigrateMem)
    return Error{Code::kUnsupported,
                 library->file.path() + " has no clEnqueueSVMMigrateMem: it is older than OpenCL 2.1"};
  const OpenClBuffer& buffer = buffers.at(prefetch.buffer.value);
  const void* address = buffer.address.get();
  cl_int code = library->clEnqueueSVMMigrateMem(
      on, 1, &address, &buffer.bytes, prefetch.to_device ? 0 : CL_MIGRATE_MEM_OBJECT_HOST, 0, nullptr, nullptr);
  return code == CL_SUCCESS ? Status{} : opencl_error("clEnqueueSVMMigrateMem", code);
}

Status OpenClWorkspace::State::renew(const Reallocate& renew) {
  OpenClBuffer& buffer = buffers.at(renew.buffer.value);
  if (buffer.kind != MemoryKind::kDevice)
    return Error{Code::kInvalid, "only device memory can be reallocated during the work"};
  auto fits = [&](const OpenClBuffer& one) { return one.bytes == buffer.bytes; };
  auto found = renew.pooled ? std::find_if(spare.begin(), spare.end(), fits) : spare.end();
  if (found != spare.end()) {
    std::swap(buffer, *found);
    return {};
  }
  RIDGE_ASSIGN(OpenClBuffer made, allocate(MemoryKind::kDevice, buffer.bytes));
  std::swap(buffer, made);
  if (renew.pooled) spare.push_back(std::move(made));
  return {};
}

Status OpenClWorkspace::State::exchange(OpenClBuffer& buffer, void* memory, size_t bytes, bool to_buffer) {
  assert(bytes <= buffer.bytes);
  RIDGE_ASSIGN(cl_command_queue on, queue(0));
  if (void* address = buffer.host_address()) {
    std::memcpy(to_buffer ? address : memory, to_buffer ? memory : address, bytes);
    return {};
  }
  if (buffer.kind == MemoryKind::kUnified) {
    RIDGE_TRY(touch(on, buffer.address.get(), memory, bytes, to_buffer));
    return finish();
  }
  cl_int code =
      to_buffer ? library->clEnqueueWriteBuffer(on, buffer.object.get(), CL_TRUE, 0, bytes, memory, 0, nullptr, nullptr)
                : library->clEnqueueReadBuffer(on, buffer.object.get(), CL_TRUE, 0, bytes, memory, 0, nullptr, nullptr);
  return code == CL_SUCCESS ? Status{} : opencl_error(to_buffer ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer", code);
}

}  // namespace ridge::gpu::opencl
