// SharedMapping: a file of shared memory mapped into this process so that whoever else has it cannot bring the process down.
//
// Memory of a file that is made shorter after it was mapped, or of one that has holes while its file system is full, cannot be
// read or written: the kernel sends SIGBUS to the thread that tries, which by default ends the process. While a mapping lives, a
// handler of that signal puts zeros of this process' own in its place and marks it as lost; the thread goes on, and who used the
// memory asks lost() afterwards. A SIGBUS anywhere else goes where it went before.
// Not copied in by read(2) instead: an engine could then not read tensors where they lie.
//
// Move-only. Thread-safe. At most kMostMappings live at a time in a process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace ridge::serve {

class SharedMapping {
 public:
  static constexpr size_t kMostMappings = 4096;

  // `size` bytes, above 0, of the open file from `offset` on, which need not be the begin of a page. The descriptor stays the
  // caller's. Errors: kExhausted too many mappings, or no room for it in the address space.
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
  std::span<std::byte> bytes_;   // of them, what was asked for
};

}  // namespace ridge::serve
