// Running text for the terminal: broken into lines by display width, in English between words, in Chinese between
// characters.
#pragma once

#include <string>
#include <string_view>

namespace ridge::cli {

// Columns of a UTF-8 text on a terminal: East Asian wide characters take two, combining ones are not supported.
size_t columns_of(std::string_view text);

// `text` in lines of at most `width` columns, the first behind `lead`, all indented by `indent` columns. A word wider than a
// line gets its own line. A line never begins with closing punctuation.
std::string paragraph(std::string_view lead, std::string_view text, size_t indent, size_t width);

}  // namespace ridge::cli
