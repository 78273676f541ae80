// Texts of messages with gaps: "failed to load library * cannot open shared object file". Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ridge::explain {

struct PatternMatch {
  size_t at = 0;
  std::string_view text;  // from the first to the last matched character
  size_t literal = 0;     // characters of the pattern that are not gaps: how specific it is
};

// The first line of `text` (in lower case) that holds the parts of `pattern` in their order; the case of `pattern` does
// not count. Linear in the text for every part.
std::optional<PatternMatch> find_pattern(std::string_view text, std::string_view pattern);

}  // namespace ridge::explain
