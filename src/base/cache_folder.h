// The folder of what ridge keeps between its runs for a user.
#pragma once

#include <string>
#include <string_view>

namespace ridge {

// `inside` of $XDG_CACHE_HOME/ridge, else of ~/.cache/ridge; "" where neither is set.
std::string cache_folder(std::string_view inside = "");

}  // namespace ridge
