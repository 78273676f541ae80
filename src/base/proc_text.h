// The few text formats that /proc and /sys use: "name : value" lines and bare numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

// Without blanks and newlines at both ends.
std::string_view trim(std::string_view text);

// The words between blanks and newlines.
std::vector<std::string> split_words(const std::string& text);

// The whole text as a decimal number, blanks around it allowed.
std::optional<int64_t> to_number(std::string_view text);

// The value of the first line "name<blanks><separator>value", trimmed.
std::optional<std::string> line_value(std::string_view text, std::string_view name, char separator = ':');

}  // namespace ridge
