#include "measure/resident.h"

#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace ridge::measure {

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  return file >> total >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

int64_t peak_resident_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    int64_t kilobytes = 0;
    if (word == "VmHWM:") return file >> kilobytes ? kilobytes * 1024 : 0;
  }
  return 0;
}

int64_t settled_resident_bytes() {
  malloc_trim(0);
  return resident_bytes();
}

}  // namespace ridge::measure
