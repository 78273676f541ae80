#include "measure/resident.h"

#include <malloc.h>
#include <unistd.h>

#include <fstream>

namespace ridge::measure {

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  return file >> total >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

int64_t settled_resident_bytes() {
  malloc_trim(0);
  return resident_bytes();
}

}  // namespace ridge::measure
