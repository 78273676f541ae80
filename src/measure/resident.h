// Resident memory of this process.
#pragma once

#include <cstdint>

namespace ridge::measure {

// [bytes], of /proc/self/statm (proc(5)); 0 if unknown.
int64_t resident_bytes();
// Its highest value so far: VmHWM of /proc/self/status; 0 likewise.
int64_t peak_resident_bytes();
// Resident memory after the C library has returned free memory, so that leftovers of closed sessions do not count.
int64_t settled_resident_bytes();

}  // namespace ridge::measure
