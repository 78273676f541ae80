// Colours in texts that also hold names from files. A colour of ours carries a mark that this process has drawn at
// random, so that a name cannot hold one: everything else that would speak to the terminal is escaped. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace ridge::cli {

// `text` between a colour and its end; `code` as ECMA-48's "Select Graphic Rendition" has it: "32", "1;31".
std::string coloured(std::string_view code, std::string_view text);
// Ends of lines stay as they are, or are shown as "\n".
enum class LineEnds { kKept, kEscaped };
// `text` with control characters escaped, but tabs and our colours.
std::string without_controls(std::string_view text, LineEnds ends);
// Our colours as the terminal understands them.
std::string for_terminal(std::string text);

}  // namespace ridge::cli
