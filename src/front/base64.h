// Base64 of RFC 4648, section 4, padded. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ridge::front {

// nullopt = not base64.
std::optional<std::string> base64_decoded(std::string_view text);
std::string base64_encoded(std::string_view bytes);

}  // namespace ridge::front
