// Resident memory of this process.
#pragma once

#include <cstdint>

namespace ridge::measure {

// [bytes], of /proc/self/statm (proc(5)); 0 if the system does not say.
int64_t resident_bytes();
// The most that it ever was: VmHWM of /proc/self/status; 0 likewise.
int64_t peak_resident_bytes();
// What is resident after the C library gave back what is free: what closed sessions left behind does not count.
int64_t settled_resident_bytes();

}  // namespace ridge::measure
