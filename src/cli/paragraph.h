// Running text for the terminal: broken into lines by display width, in English between words, in Chinese between
// characters. Pure.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {

// Width of output that does not go to a terminal: no line is broken.
constexpr size_t kUnbounded = std::numeric_limits<size_t>::max();

// Without their newlines.
std::vector<std::string_view> lines_in(std::string_view text);

// Columns of a UTF-8 text on a terminal: East Asian wide characters take two, colours (SGR sequences) none; combining
// characters are not supported.
size_t columns_of(std::string_view text);
// Columns of the widest piece that a line break leaves whole.
size_t widest_word(std::string_view text);
// The first `width` columns; "…" as the last one where something was cut.
std::string cut(std::string_view text, size_t width);

// A word wider than a line overflows it, to be copied whole, or is broken, to keep a table's columns.
enum class LongWord { kOverflows, kBreaks };

// `text` in lines of at most `width` columns, the first behind `lead`, all indented by `indent` columns. A line never
// begins with closing punctuation.
std::string paragraph(std::string_view lead, std::string_view text, size_t indent, size_t width,
                      LongWord long_word = LongWord::kOverflows);

// Breaks each line that is wider than `width`; it continues below its own text: behind a gap of two blanks
// ("  --json   one document"), behind a label ("note: "), or two columns in. Narrower lines stay as they are.
std::string fitted(std::string_view text, size_t width);
// A command line, broken between its words by "\\" so that it can be pasted. Quoted words stay whole.
std::string fitted_command(std::string_view command, size_t indent, size_t width);

}  // namespace ridge::cli
