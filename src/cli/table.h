// A table as text that fits a width. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {

// `columns` has a letter for each column, and perhaps a digit: l text, r a number, n a remark; left of them l.
//   - Numbers never break. Text breaks between words inside its column, as do headings.
//   - A remark too wide for its column stands below its row.
//   - A digit says which columns leave first on a narrow line, 1 before 2; a last line names them. Without digits
//     the columns that do not fit follow in a table of their own, with the first column again.
// `width` = kUnbounded (cli/paragraph.h): one line per row, everything shown. An empty header: none.
std::string table_text(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                       std::string_view columns, size_t width);

}  // namespace ridge::cli
