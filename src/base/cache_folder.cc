#include "base/cache_folder.h"

#include <cstdlib>

namespace ridge {

std::string cache_folder(std::string_view inside) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string folder;
  if (cache && *cache == '/')  // the XDG Base Directory Specification: relative paths are invalid and ignored
    folder = std::string(cache) + "/ridge";
  else if (home && *home)
    folder = std::string(home) + "/.cache/ridge";
  else
    return "";
  return inside.empty() ? folder : folder + "/" + std::string(inside);
}

}  // namespace ridge
