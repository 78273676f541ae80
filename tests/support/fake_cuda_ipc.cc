// Of fake_cuda.cc: memory that processes share. A handle tells whose it is and where it is open there; it works between any two
// processes of one user that play a GPU with `ipc 1`, as CUDA's do: not in the process that made it, and only for memory that is
// still held.
#include <unistd.h>

#include <cstring>

#include "fake_cuda_state.h"

using namespace ridge;
using namespace ridge::gpu::cuda;
using namespace ridge::fake;

namespace {

struct Exported {
  char mark[8] = {'r', 'i', 'd', 'g', 'e', 'i', 'p', 'c'};
  int owner = 0;  // process
  int file = -1;  // open there
  size_t size = 0;
};
static_assert(sizeof(Exported) <= sizeof(IpcHandle));

int open_exported(Address* address, const IpcHandle& handle) {
  Exported from, expected;
  std::memcpy(&from, handle.bytes, sizeof from);
  if (!says(*current->part, "ipc")) return kNotSupported;
  if (std::memcmp(from.mark, expected.mark, sizeof from.mark) != 0) return kInvalidValue;
  if (from.owner == getpid()) return kInvalidContext;
  FakeMemory memory = FakeMemory::of_other_process(from.owner, from.file, from.size);
  if (memory.get() == nullptr) return kInvalidHandle;
  *address = reinterpret_cast<Address>(memory.get());
  current->memory[*address] = {from.size, Place::kOtherProcess, std::move(memory)};
  return kSuccess;
}

}  // namespace

extern "C" {

EXPORT int cuIpcGetMemHandle(IpcHandle* handle, Address address) {
  ENTER(cuIpcGetMemHandle);
  auto found = current->memory.find(address);
  if (found == current->memory.end()) return kInvalidValue;
  if (found->second.content.file() < 0) return kNotSupported;
  Exported made;
  made.owner = getpid();
  made.file = found->second.content.file();
  made.size = found->second.size;
  std::memset(handle->bytes, 0, sizeof handle->bytes);
  std::memcpy(handle->bytes, &made, sizeof made);
  return kSuccess;
}
EXPORT int cuIpcOpenMemHandle_v2(Address* address, IpcHandle handle, unsigned) {
  ENTER(cuIpcOpenMemHandle_v2);
  return open_exported(address, handle);
}
EXPORT int cuIpcOpenMemHandle(Address* address, IpcHandle handle, unsigned flags) {
  return cuIpcOpenMemHandle_v2(address, handle, flags);
}
EXPORT int cuIpcCloseMemHandle(Address address) {
  ENTER(cuIpcCloseMemHandle);
  auto found = current->memory.find(address);
  if (found == current->memory.end() || found->second.place != Place::kOtherProcess) return kInvalidValue;
  current->drain_all();
  current->memory.erase(found);
  return kSuccess;
}
EXPORT int cuMemGetAddressRange_v2(Address* base, size_t* size, Address address) {
  ENTER(cuMemGetAddressRange_v2);
  const Range range = current->range_of(address);
  if (range.size == 0) return kNotFound;
  *base = range.begin;
  *size = range.size;
  return kSuccess;
}

}  // extern "C"

// As what ridge looks up, which tests/abi compares with NVIDIA's header.
#define SAME(name) static_assert(std::is_same_v<decltype(::name), decltype(ridge::gpu::cuda::Library::name)::Type>)
SAME(cuIpcGetMemHandle);
SAME(cuIpcOpenMemHandle_v2);
SAME(cuIpcOpenMemHandle);
SAME(cuIpcCloseMemHandle);
SAME(cuMemGetAddressRange_v2);
#undef SAME
