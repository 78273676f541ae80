// Running text for the terminal: broken into lines by display width, in English between words, in Chinese between
// characters.
#pragma once

#include <string>
#include <string_view>

namespace ridge::cli {

// Columns that a UTF-8 text takes on a terminal: East Asian wide characters take two, combining ones are not expected.
size_t columns_of(std::string_view text);

// `text` in lines of at most `width` columns, the first behind `lead`, all indented by `indent` columns. A word that is
// wider than a line stands alone in one. A line begins with no closing punctuation.
std::string paragraph(std::string_view lead, std::string_view text, size_t indent, size_t width);

}  // namespace ridge::cli
