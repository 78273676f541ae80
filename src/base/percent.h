// Percent-encoding of a segment of a URL's path (RFC 3986, 2.1). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ridge {

// All but unreserved characters as %XX.
std::string percent_encoded(std::string_view text);
// nullopt: a '%' without two hexadecimal digits, or a NUL, which names must not contain.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace ridge
