// Resident memory of this process.
#pragma once

#include <cstdint>

namespace ridge::measure {

// [bytes], of /proc/self/statm (proc(5)); 0 if the system does not say.
int64_t resident_bytes();

}  // namespace ridge::measure
