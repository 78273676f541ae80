#include "front/reloaded.h"

#include <sys/stat.h>

namespace ridge::front {

std::vector<FileStamp> stamps_of(const std::vector<std::string>& files) {
  std::vector<FileStamp> stamps;
  for (const std::string& file : files) stamps.push_back(stamp_of(file));
  return stamps;
}

void warn_of_readers(const std::string& what, const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) == 0 && (found.st_mode & S_IROTH) != 0)
    log::warning("{} '{}' can be read by every user of this machine; chmod o-r '{}'", what, file, file);
}

}  // namespace ridge::front
