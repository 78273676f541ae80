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

int64_t peak_resident_bytes() {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/status", "r"), std::fclose);
  char line[256];
  long long kilobytes = 0;
  while (file && std::fgets(line, sizeof line, file.get()) != nullptr)
    if (std::sscanf(line, "VmHWM: %lld kB", &kilobytes) == 1) break;
  return static_cast<int64_t>(kilobytes) * 1024;
}

int64_t settled_resident_bytes() {
  malloc_trim(0);
  return resident_bytes();
}

}  // namespace ridge::measure
