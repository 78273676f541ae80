#include "front/reloaded.h"

#include <sys/stat.h>

namespace ridge::front {

std::vector<FileStamp> stamps_of(const std::vector<std::string>& files) {
  std::vector<FileStamp> stamps;
  for (const std::string& file : files) {
    FileStamp& stamp = stamps.emplace_back();
    struct stat found {};
    if (::stat(file.c_str(), &found) != 0) continue;
    stamp = {.device = found.st_dev,
             .inode = found.st_ino,
             .size_bytes = found.st_size,
             .changed_ns = int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec};
  }
  return stamps;
}

void warn_of_readers(const std::string& what, const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) == 0 && (found.st_mode & S_IROTH) != 0)
    log::warning("{} '{}' can be read by every user of this machine; chmod o-r '{}'", what, file, file);
}

}  // namespace ridge::front
