// The text of an error as a protocol sends it. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ridge::front {

// Never empty; at most `longest` bytes, because a name of a request, which messages repeat, may be as long as its body;
// bytes that are not UTF-8 become U+FFFD.
std::string error_text(std::string_view message, size_t longest);

}  // namespace ridge::front
