// SharedMapping: a file of shared memory mapped into this process, safe against truncation by other processes.
//
// Memory of a file that was truncated after mapping, or with holes on a full file system, cannot be accessed: the
// kernel sends SIGBUS to the accessing thread, which by default ends the process. While a mapping lives, a signal
// handler replaces the memory by private zeros and marks it as lost; the thread continues, and the user of the memory
// calls lost() afterwards. Any other SIGBUS has its previous effect. read(2) would be safe too, but engines could then
// not read tensors in place.
//
// Move-only. Thread-safe. At most kMostMappings live at a time in a process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace ridge::serve {

// While one lives, memory of any mapped file that was cut off reads as zeros instead of ending the process: of a model
// that is being loaded while its files are replaced.
class LoadGuard {
 public:
  LoadGuard();
  ~LoadGuard();
  LoadGuard(const LoadGuard&) = delete;
  LoadGuard& operator=(const LoadGuard&) = delete;
  // True if that has happened since it was made, in this load or in another.
  bool lost_memory() const;

 private:
  uint64_t lost_before_ = 0;
};

class SharedMapping {
 public:
  static constexpr size_t kMostMappings = 4096;

  // `size` bytes, above 0, of the open file from `offset` on, not necessarily page-aligned. The descriptor stays the
  // caller's. Errors: kExhausted too many mappings, or the address space is full.
  static Result<SharedMapping> map(int file, uint64_t offset, size_t size);

  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;
  ~SharedMapping();

  std::span<std::byte> bytes() const { return bytes_; }
  // The file's memory was not there when it was touched; bytes() has been of this process since.
  bool lost() const;

 private:
  SharedMapping() = default;
  size_t slot_ = kMostMappings;  // in the handler's table; kMostMappings: none
  std::span<std::byte> pages_;   // whole ones
  std::span<std::byte> bytes_;   // of them, the requested ones
};

}  // namespace ridge::serve
