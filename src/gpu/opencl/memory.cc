// The memory of an OpenCL workspace: buffers of each kind, and copies between them.
//
// Pinned memory is CL_MEM_ALLOC_HOST_PTR, mapped once permanently (OpenCL 1.2 specification, 5.2.1); the specification
// does not guarantee that it is pinned.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "gpu/opencl/workspace.h"

namespace ridge::gpu::opencl {

Result<OpenClWorkspace::OpenClBuffer> OpenClWorkspace::allocate(MemoryKind kind, size_t bytes) {
  OpenClBuffer made;
  made.kind = kind;
  made.bytes = bytes;
  if (kind == MemoryKind::kHost) {
    made.pageable = Buffer(bytes);
    std::fill_n(made.pageable.data(), bytes, std::byte{0});
    return made;
  }
  if (kind == MemoryKind::kUnified) {
    if (!unified_memory_)
      return Error{Code::kUnsupported, "this OpenCL device shares no addresses with the host (SVM)"};
    void* address = library_->clSVMAlloc(context_.get(), CL_MEM_READ_WRITE, bytes, 0);
    if (address == nullptr) return Error{Code::kExhausted, fmt::format("clSVMAlloc: no {} bytes", bytes)};
    made.address = {address, [this](void* memory) { library_->clSVMFree(context_.get(), memory); }};
    return made;
  }
  const bool pinned = kind == MemoryKind::kPinned;
  cl_int code = CL_SUCCESS;
  cl_mem object = library_->clCreateBuffer(
      context_.get(), CL_MEM_READ_WRITE | (pinned ? CL_MEM_ALLOC_HOST_PTR : cl_mem_flags{0}), bytes, nullptr, &code);
  if (code != CL_SUCCESS) return wrap(opencl_error("clCreateBuffer", code), fmt::format("{} bytes", bytes));
  made.object = OpenClObject(object, library_->clReleaseMemObject);
  if (!pinned) return made;
  RIDGE_ASSIGN(cl_command_queue on, queue(0));
  void* mapped = library_->clEnqueueMapBuffer(on, object, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, nullptr,
                                              nullptr, &code);
  if (code != CL_SUCCESS) return opencl_error("clEnqueueMapBuffer", code);
  made.address = {mapped, [this, on, object](void* memory) {
                    library_->clEnqueueUnmapMemObject(on, object, memory, 0, nullptr, nullptr);
                    library_->clFinish(on);
                  }};
  return made;
}

Result<BufferNumber> OpenClWorkspace::add_bytes(size_t size, MemoryKind kind) {
  RIDGE_ASSIGN(OpenClBuffer made, allocate(kind, size));
  buffers_.push_back(std::move(made));
  return BufferNumber{buffers_.size() - 1};
}

Status OpenClWorkspace::touch(cl_command_queue on, std::byte* unified, std::byte* memory, size_t bytes, bool write) {
  cl_int code =
      library_->clEnqueueSVMMap(on, CL_TRUE, write ? CL_MAP_WRITE : CL_MAP_READ, unified, bytes, 0, nullptr, nullptr);
  if (code != CL_SUCCESS) return opencl_error("clEnqueueSVMMap", code);
  std::memcpy(write ? unified : memory, write ? memory : unified, bytes);
  code = library_->clEnqueueSVMUnmap(on, unified, 0, nullptr, nullptr);
  return code == CL_SUCCESS ? Status{} : opencl_error("clEnqueueSVMUnmap", code);
}

Status OpenClWorkspace::copy(cl_command_queue on, const Copy& copy) {
  OpenClBuffer &from = buffers_.at(copy.from.value), &to = buffers_.at(copy.to.value);
  const size_t at = copy.first * sizeof(float);
  const size_t bytes = copy.count > 0 ? copy.count * sizeof(float) : std::min(from.bytes, to.bytes) - at;
  assert(at + bytes <= std::min(from.bytes, to.bytes));
  std::byte *source = from.host(), *target = to.host();
  if (from.kind == MemoryKind::kUnified || to.kind == MemoryKind::kUnified) {
    const bool out = from.kind == MemoryKind::kUnified;
    std::byte* host = out ? target : source;
    if (host == nullptr) return invalid("unified memory is copied to and from the host's memory only");
    return touch(on, static_cast<std::byte*>((out ? from : to).address.get()) + at, host + at, bytes, !out);
  }
  if (source != nullptr && target != nullptr) return invalid("a copy from host memory to host memory needs no device");
  cl_int code = CL_SUCCESS;
  if (source != nullptr)
    code = library_->clEnqueueWriteBuffer(on, to.object.get(), CL_FALSE, at, bytes, source + at, 0, nullptr, nullptr);
  else if (target != nullptr)
    code = library_->clEnqueueReadBuffer(on, from.object.get(), CL_FALSE, at, bytes, target + at, 0, nullptr, nullptr);
  else
    code = library_->clEnqueueCopyBuffer(on, from.object.get(), to.object.get(), at, at, bytes, 0, nullptr, nullptr);
  return code == CL_SUCCESS ? Status{} : opencl_error("copy of a buffer", code);
}

Status OpenClWorkspace::prefetch(cl_command_queue on, const Prefetch& prefetch) {
  if (!library_->clEnqueueSVMMigrateMem)
    return Error{Code::kUnsupported,
                 library_->file.path() + " has no clEnqueueSVMMigrateMem: it is older than OpenCL 2.1"};
  const OpenClBuffer& buffer = buffers_.at(prefetch.buffer.value);
  const void* address = buffer.address.get();
  cl_int code = library_->clEnqueueSVMMigrateMem(
      on, 1, &address, &buffer.bytes, prefetch.to_device ? 0 : CL_MIGRATE_MEM_OBJECT_HOST, 0, nullptr, nullptr);
  return code == CL_SUCCESS ? Status{} : opencl_error("clEnqueueSVMMigrateMem", code);
}

Status OpenClWorkspace::renew(const Reallocate& renew) {
  OpenClBuffer& buffer = buffers_.at(renew.buffer.value);
  if (buffer.kind != MemoryKind::kDevice) return invalid("only device memory can be reallocated during the work");
  auto fits = [&](const OpenClBuffer& one) { return one.bytes == buffer.bytes; };
  auto found = renew.pooled ? std::find_if(spare_.begin(), spare_.end(), fits) : spare_.end();
  if (found != spare_.end()) {
    std::swap(buffer, *found);
    return {};
  }
  RIDGE_ASSIGN(OpenClBuffer made, allocate(MemoryKind::kDevice, buffer.bytes));
  std::swap(buffer, made);
  if (renew.pooled) spare_.push_back(std::move(made));
  return {};
}

Status OpenClWorkspace::exchange(BufferNumber number, std::byte* memory, size_t bytes, size_t at, bool to_buffer) {
  OpenClBuffer& buffer = buffers_.at(number.value);
  assert(at + bytes <= buffer.bytes);
  if (std::byte* host = buffer.host(); host != nullptr) {
    std::memcpy(to_buffer ? host + at : memory, to_buffer ? memory : host + at, bytes);
    return {};
  }
  RIDGE_ASSIGN(cl_command_queue on, queue(0));
  if (buffer.kind == MemoryKind::kUnified) {
    RIDGE_TRY(touch(on, static_cast<std::byte*>(buffer.address.get()) + at, memory, bytes, to_buffer));
    return finish();
  }
  cl_int code =
      to_buffer
          ? library_->clEnqueueWriteBuffer(on, buffer.object.get(), CL_TRUE, at, bytes, memory, 0, nullptr, nullptr)
          : library_->clEnqueueReadBuffer(on, buffer.object.get(), CL_TRUE, at, bytes, memory, 0, nullptr, nullptr);
  return code == CL_SUCCESS ? Status{} : opencl_error(to_buffer ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer", code);
}

Status OpenClWorkspace::write_bytes(BufferNumber buffer, std::span<const std::byte> content, size_t at) {
  // Only read, by its direction.
  return exchange(buffer, const_cast<std::byte*>(content.data()), content.size(), at, true);
}

Status OpenClWorkspace::read_bytes(BufferNumber buffer, std::span<std::byte> content, size_t at) {
  return exchange(buffer, content.data(), content.size(), at, false);
}

}  // namespace ridge::gpu::opencl
