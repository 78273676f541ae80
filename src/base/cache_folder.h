// The folder of what ridge keeps between its runs for a user.
#pragma once

#include <string>

namespace ridge {

// $XDG_CACHE_HOME/ridge, else ~/.cache/ridge; "" where neither is set.
std::string cache_folder();

}  // namespace ridge
