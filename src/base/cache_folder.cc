#include "base/cache_folder.h"

#include <cstdlib>

namespace ridge {

std::string cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache) return std::string(cache) + "/ridge";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.cache/ridge" : std::string();
}

}  // namespace ridge
