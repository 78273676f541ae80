// Texts of models and clients, which may be any bytes, on their way into protocols that allow UTF-8 only. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace ridge::front {

bool is_utf8(std::string_view text);
// Bytes that are not UTF-8 become U+FFFD.
std::string repaired_utf8(std::string_view text);

}  // namespace ridge::front
