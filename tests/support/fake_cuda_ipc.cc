// A part of fake_cuda.cc: memory shared by processes. A handle names its process and its file there; as with CUDA, it
// works between any two processes of one user on a GPU with `ipc 1`: not in the creating process, and only for memory
// still held.
#include <unistd.h>

#include <cstring>

#include "fake_cuda_state.h"

namespace {

struct ExportedMemory {
  char mark[8] = {'r', 'i', 'd', 'g', 'e', 'i', 'p', 'c'};
  int owner = 0;  // process
  int file = -1;  // open there
  size_t size = 0;
};
static_assert(sizeof(ExportedMemory) <= sizeof(CUipcMemHandle));

CUresult open_exported(CUdeviceptr* address, const CUipcMemHandle& handle) {
  ExportedMemory from, expected;
  std::memcpy(&from, handle.reserved, sizeof from);
  if (!says(*current->part, "ipc")) return CUDA_ERROR_NOT_SUPPORTED;
  if (std::memcmp(from.mark, expected.mark, sizeof from.mark) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (from.owner == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  FakeMemory memory = FakeMemory::of_other_process(from.owner, from.file, from.size);
  if (memory.get() == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *address = reinterpret_cast<CUdeviceptr>(memory.get());
  current->memory[*address] = {from.size, Place::kOtherProcess, std::move(memory)};
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  ENTER(cuIpcGetMemHandle);
  auto found = current->memory.find(address);
  if (found == current->memory.end()) return CUDA_ERROR_INVALID_VALUE;
  if (found->second.content.file() < 0) return CUDA_ERROR_NOT_SUPPORTED;
  ExportedMemory made;
  made.owner = getpid();
  made.file = found->second.content.file();
  made.size = found->second.size;
  std::memset(handle->reserved, 0, sizeof handle->reserved);
  std::memcpy(handle->reserved, &made, sizeof made);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned) {
  ENTER(cuIpcOpenMemHandle_v2);
  return open_exported(address, handle);
}
EXPORT CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  return cuIpcOpenMemHandle_v2(address, handle, flags);
}
EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  ENTER(cuIpcCloseMemHandle);
  auto found = current->memory.find(address);
  if (found == current->memory.end() || found->second.place != Place::kOtherProcess) return CUDA_ERROR_INVALID_VALUE;
  current->drain_all();
  current->memory.erase(found);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  ENTER(cuMemGetAddressRange_v2);
  const Range range = current->range_of(address);
  if (range.size == 0) return CUDA_ERROR_NOT_FOUND;
  *base = range.begin;
  *size = range.size;
  return CUDA_SUCCESS;
}

}  // extern "C"
