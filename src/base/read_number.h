// A text that is a number and nothing else.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace ridge {

// False, and `number` is undefined: the text is something else, or does not fit.
template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace ridge
