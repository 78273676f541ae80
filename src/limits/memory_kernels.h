// The loops that measure memory bandwidth: loads only, and a mix of two loads and a store (STREAM's triad a = b·s + c).
//
// Convention of bytes: those the program loads and stores, each once. With non-temporal stores this equals the traffic
// on the memory bus; an ordinary store makes the CPU read the line first, which is not counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ridge::limits {

// kPlainRead: loads in a loop of four vectors, like a compiler or a simple benchmark.
enum class Traffic { kRead, kPlainRead, kTriad, kTriadNonTemporal };

struct MemoryKernel {
  Traffic traffic;
  const char* name;                // "avx512 load"
  std::vector<const char*> needs;  // as of PeakKernel
  std::vector<const char*> pointless_with;
  // One pass over `size` bytes from `data`, `passes` times. `data` is aligned to 64 bytes; `size` a positive multiple
  // of kWorkingSetStep. Triad overwrites the first third.
  void (*run)(std::byte* data, size_t size, int64_t passes);
};

// 4 parallel streams and 3 arrays, each a whole number of unrolled iterations of 1 KiB.
constexpr size_t kWorkingSetStep = 12 * 1024;

std::vector<const MemoryKernel*> memory_kernels_for(const std::vector<std::string>& isa);

}  // namespace ridge::limits
